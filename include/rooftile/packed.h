/// Rooftile: operands that are packed once and used by many calls. Part of rooftile.h.
///
/// The fastest kernels read A or B in a layout of their own. Packing an operand into it takes a
/// pass over the operand in every call, and an operand in host memory has to be uploaded first. For
/// weights, which stay the same from call to call, both can be done once:
///
///     rooftile_pack_args pack = {sizeof pack, ROOFTILE_OPERAND_B, &call};  // call.b: the weights
///     rooftile_pack(context, &pack, &weights);
///     call.packed = weights;
///     rooftile_gemm(context, &call);  // any number of times
///
/// Validity. A packed operand is a copy in the device's memory. It is valid for one context, one of
/// A and B, one type (or quantisation), one transposition and one size of that operand. Everything
/// else may differ from call to call: the other operand's size and transposition, alpha, beta, the
/// type of C, the epilogue, the tier, and the batch, whose members all share the operand (its
/// stride is 0). rooftile_sgemm, rooftile_gemm, rooftile_explain, rooftile_explain_gemm, the
/// functions of resident.h and those of vulkan.h take it in args->packed.
///
/// Original operand. It may be changed or freed when the packing function has returned; the packed
/// operand does not change with it. A call may pass the original as well, in args->a or args->b (in
/// operands->a or operands->b on device buffers), with the same contents:
/// - With the original, the host can answer: where it is predicted to be faster, where its tier was
///   requested, while a kernel is compiled, when the device fails, and on machines without a tuned
///   device. Scans, spot checks and float64 sums (rooftile_guard) need it, too. Programs that keep
///   their weights in host memory anyway should pass it.
/// - Without the original (a null pointer, or no buffer; ld may be 0 then) the call runs on the
///   device and waits for its kernel, or fails: UNSUPPORTED where no kernel can compute it on the
///   device, DEVICE_ERROR when the device is lost. If all kernels that read the packed layouts have
///   failed, packing the operand again stores a layout that the remaining kernels read.
///
/// Kernels. An operand is packed for the sizes that the caller expects. For each of them the packed
/// operand holds the layout that the fastest kernel reads when packing costs nothing; kernels that
/// read the same layout share it. Where that kernel reads the operand as it is stored, the layout
/// is a plain copy. A call of another size runs the fastest of the kernels that read one of these
/// layouts, or the operand as stored. If some size would have no such kernel, a plain copy is held
/// as well.
///
/// Handles, threads and errors. A packed operand is a handle like those of resident.h: a released
/// handle is refused with INVALID_ARGUMENT. All functions are thread-safe, and any number of calls,
/// from any thread, may use one packed operand at a time. Errors set rooftile_last_error. In a
/// process forked from one that has used the device, only release is allowed, and the host answers
/// calls that pass the original operand.
#ifndef ROOFTILE_PACKED_H_
#define ROOFTILE_PACKED_H_

#include <rooftile/resident.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Operand of a GEMM that is packed.
typedef enum rooftile_operand { ROOFTILE_OPERAND_A = 0, ROOFTILE_OPERAND_B = 1 } rooftile_operand;

/// Arguments of rooftile_pack and rooftile_resident_pack. They are read only during the call.
typedef struct rooftile_pack_args {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_pack_args).
  rooftile_operand operand;
  /// A call as the program will make it. Type, quantisation, layout, transposes, m, n, k, leading
  /// dimensions, batch and epilogue determine which kernels compete. Of its pointers only those of
  /// the operand (and of a quantised B's scales and zero points) are read. Its packed field is
  /// NULL.
  const rooftile_gemm_args* call;
  /// Values of m (of n, where A is packed) that other calls will have, besides that of `call`: for
  /// example 512 beside 1, for a language model that reads a prompt of 512 tokens and then
  /// generates tokens one by one. NULL is allowed where size_count is 0.
  const int64_t* sizes;
  size_t size_count;  ///< Number of elements of `sizes`, at most 64.
} rooftile_pack_args;

/// Description of a packed operand.
typedef struct rooftile_packed_info {
  size_t struct_size;     ///< Set by the caller to sizeof(rooftile_packed_info).
  uint64_t device_bytes;  ///< Device memory that it occupies until it is released.
  /// Number of layouts held, the plain copy included. 0: no device computes with the operand.
  int layouts;
  int plain_copy;  ///< 1 if one of the layouts is the operand as it is stored, else 0.
  /// Kernel for the call that it was packed with, named as in rooftile_decision; "" when there is
  /// none.
  char kernel[160];
} rooftile_packed_info;

/// Packs an operand in host memory for the device that the context has tuned kernels for. Opens the
/// device and compiles the kernels if necessary, and returns when everything is done. The caller
/// releases *packed.
///
/// If no device computes such calls (nothing is tuned, or the device is absent or lost), this is no
/// error: the packed operand holds nothing, and calls have to pass the original, which the host
/// reads.
///
/// Errors (*packed is NULL, and nothing is held): INVALID_ARGUMENT, OUT_OF_MEMORY, TIMEOUT.
ROOFTILE_API rooftile_status rooftile_pack(rooftile_context* context,
                                           const rooftile_pack_args* args,
                                           rooftile_packed** packed);

/// Same as rooftile_pack for an operand in a buffer of the device: operands->a or operands->b, with
/// operands->scales and operands->zero_points for a quantised B. All pointers of args->call are
/// NULL, as in rooftile_resident_gemm. The other operands are ignored, except those of the
/// epilogue, which determine its operations. Packing runs after all work that was requested before.
/// Without tuned kernels the packed operand is a plain copy, which the plain kernel reads.
///
/// Errors (*packed is NULL, and nothing is held): INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY,
/// DEVICE_ERROR, TIMEOUT.
ROOFTILE_API rooftile_status rooftile_resident_pack(rooftile_context* context,
                                                    const rooftile_pack_args* args,
                                                    const rooftile_resident_operands* operands,
                                                    rooftile_packed** packed);

/// Fills *info. Errors: INVALID_ARGUMENT.
ROOFTILE_API rooftile_status rooftile_packed_query(rooftile_packed* packed,
                                                   rooftile_packed_info* info);

/// Releases the handle; NULL is allowed. The memory is freed when the calls, runs, lists and
/// recordings that use it are finished or released. May be called after the context is closed.
ROOFTILE_API rooftile_status rooftile_packed_release(rooftile_packed* packed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ROOFTILE_PACKED_H_ */
