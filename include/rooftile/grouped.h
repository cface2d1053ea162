/// Rooftile: grouped GEMM, as mixtures of experts need it. Part of rooftile.h.
///
/// One call multiplies many groups of rows, each with a B of its own. The rows of A are sorted so
/// that those of a group lie together; C has the same rows. Group g has rows[g] rows, which follow
/// those of group g - 1, and is multiplied with the B of expert experts_of_groups[g]. A device
/// computes all groups in one dispatch, however many there are (in several where they take more
/// than a quarter of a second), and one more makes the list of tiles where the sizes lie on the
/// device. The operands that a device reads as stored are never copied for a group.
///
/// The problem is a rooftile_gemm_args with these differences; docs/grouped.md has an example.
/// - m is the number of rows of A and C. Rows behind the last group are neither read nor written.
/// - B has `experts` matrices of k x n (trans_b: n x k), stride_b elements apart. stride_b 0 means
///   that all experts share one B. The experts of a quantised B, and their scales and zero points,
///   lie one behind the other: stride_b is 0 or n * ldb, and the lengths of rooftile_quantization
///   are those of all experts.
/// - layout is ROW_MAJOR, trans_a NO_TRANSPOSE, batch 1, and there are no arrays of pointers. A
///   packed operand is B, packed by rooftile_resident_pack_experts, in calls on device buffers.
/// - column_scale, and a bias of columns, have n values for each expert (stride_columns).
///   row_scale, a bias of rows and the residual belong to the rows of C.
///
/// Errors, besides those of rooftile_gemm. INVALID_ARGUMENT, with C untouched: a negative size,
/// sizes whose sum exceeds m (a sum that overflows does), an expert that is not in [0, experts).
/// Sizes that lie on the device are not read by the host; see rooftile_group_status.
#ifndef ROOFTILE_GROUPED_H_
#define ROOFTILE_GROUPED_H_

#include <rooftile/resident.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The groups of one call.
typedef struct rooftile_groups {
  size_t struct_size;   ///< Set by the caller to sizeof(rooftile_groups).
  int64_t count;        ///< Number of groups; 0 is legal.
  int64_t experts;      ///< Number of matrices B, at least 1.
  const int64_t* rows;  ///< `count` sizes, each 0 or more. NULL: they lie on the device.
  /// `count` experts. NULL: they lie on the device if the sizes do and there is a buffer for them,
  /// otherwise group g has expert g.
  const int64_t* experts_of_groups;
  /// Elements from an expert's column_scale and bias to the next one's, at least n; 0: all experts
  /// share them.
  int64_t stride_columns;
} rooftile_groups;

/// Computes the groups on host memory: on the device, or on the host with one BLAS call for each
/// group (several groups at a time where they are small), as args->tier and args->guard say. AUTO
/// compares the predicted times of a batch of the same work. A call that runs on the device waits
/// for its kernel. Thread-safe. rooftile_last_decision describes that batch.
///
/// UNSUPPORTED: the device is forced, and no kernel can compute the call, or the precision or the
/// guard asks for what calls on device buffers do not support (resident.h).
ROOFTILE_API rooftile_status rooftile_grouped_gemm(rooftile_context* context,
                                                   const rooftile_gemm_args* args,
                                                   const rooftile_groups* groups);

/// What a call whose sizes lie on the device writes to its status word.
typedef enum rooftile_group_status {
  ROOFTILE_GROUPS_RIGHT = 0,
  /// An expert is not in [0, experts). Nothing is written for its group; the others are computed.
  ROOFTILE_GROUPS_UNKNOWN_EXPERT = 1,
  ROOFTILE_GROUPS_TOO_LARGE = 2  ///< A size is negative, or their sum exceeds m. C is untouched.
} rooftile_group_status;

/// The operands of a grouped call on device buffers. Sizes, experts and status are 32-bit integers;
/// offsets of them count integers, and are multiples of 64 (strictly, of the device's own
/// alignment).
typedef struct rooftile_grouped_operands {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_grouped_operands).
  const rooftile_resident_operands* operands;  ///< A, B, C and so on. B is that of all experts.
  rooftile_place rows;               ///< `count` sizes, if groups->rows is NULL; otherwise absent.
  rooftile_place experts_of_groups;  ///< `count` experts. Absent: group g has expert g.
  /// One integer, a rooftile_group_status. May be absent. Not written where there is nothing to do:
  /// no groups, or m or n is 0.
  rooftile_place status;
} rooftile_grouped_operands;

/// The same as rooftile_resident_prepare, rooftile_resident_gemm and rooftile_list_gemm, for a
/// grouped call. Where the sizes lie on the device they are read when the work runs, so that
/// earlier work of the same list may write them; the grid is then as large as `count` groups of m
/// rows in all may need. Sizes from the host are read before the function returns. All three wait
/// for a certificate as rooftile_resident_prepare does.
ROOFTILE_API rooftile_status rooftile_resident_prepare_grouped(
    rooftile_context* context, const rooftile_gemm_args* args, const rooftile_groups* groups,
    const rooftile_grouped_operands* operands, rooftile_prepared* prepared);
ROOFTILE_API rooftile_status rooftile_resident_grouped_gemm(
    rooftile_context* context, const rooftile_gemm_args* args, const rooftile_groups* groups,
    const rooftile_grouped_operands* operands, rooftile_run** run);
ROOFTILE_API rooftile_status rooftile_list_grouped_gemm(rooftile_list* list,
                                                        const rooftile_gemm_args* args,
                                                        const rooftile_groups* groups,
                                                        const rooftile_grouped_operands* operands);

/// Packs the B of all experts once, into the layout that the fastest kernel reads, for grouped
/// calls on device buffers whose args->packed is *packed. Such calls need no buffer for B, and
/// leave stride_b and ldb 0. Of args the types, trans_b, n, k, ldb and stride_b count, and m as the
/// number of rows that calls are expected to have in groups->count groups; of operands only b. The
/// caller releases *packed with rooftile_packed_release, and may release or overwrite B's buffer.
/// Waits.
///
/// Errors: UNSUPPORTED for a quantised B, which kernels read as stored, and on devices whose
/// kernels read experts as stored: pass B itself then. INVALID_ARGUMENT, OUT_OF_MEMORY,
/// DEVICE_ERROR.
ROOFTILE_API rooftile_status rooftile_resident_pack_experts(
    rooftile_context* context, const rooftile_gemm_args* args, const rooftile_groups* groups,
    const rooftile_resident_operands* operands, rooftile_packed** packed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ROOFTILE_GROUPED_H_ */
