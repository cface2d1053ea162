/// Rooftile: what a list does to matrices between its GEMMs, so that a layer of a language model is
/// one list: softmax of rows, and products element by element. C programs include it beside
/// rooftile.h; it is part of rooftile.hpp.
///
/// Matrices are float32 in device buffers, row-major, with a leading dimension (ld) and offsets in
/// elements of 4 bytes. A result may be one of the operands, with the same offset, ld and stride;
/// it must not overlap an operand otherwise. Rules for buffers, order, threads and failures are
/// those of resident.h. Before a shader is used for the first time in a context, it is compared
/// with float64.
#ifndef ROOFTILE_ROWS_H_
#define ROOFTILE_ROWS_H_

#include <rooftile/resident.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Softmax of each row of `batch` matrices: y[i][j] := exp(scale * x[i][j]) / sum, where sum is
/// that of exp(scale * x[i][l]) over the columns l that row i uses. The largest value is subtracted
/// first, so that the sum does not overflow. On every driver, as in NumPy, SciPy and PyTorch:
/// -infinity beside a number becomes 0; a row in which the columns that it uses hold a
/// scale * x (in float32) that is NaN or +infinity, or -infinity only, becomes NaN in all of them.
typedef struct rooftile_softmax_args {
  size_t struct_size;          ///< Set by the caller to sizeof(rooftile_softmax_args).
  int64_t rows, columns;       ///< Of a matrix, from 0 to 2^30.
  int64_t batch;               ///< Number of matrices, at least 1.
  int64_t ld_x, ld_y;          ///< At least columns.
  int64_t stride_x, stride_y;  ///< From one matrix to the next.
  /// If causal is not 0, row i uses the columns 0 to i + causal_offset, and the others of y become
  /// 0: the mask of attention, where causal_offset is the number of tokens before the first row's.
  /// A row that uses no column becomes 0.
  int64_t causal, causal_offset;
  float scale;
  int unused;  ///< 0
} rooftile_softmax_args;

/// Adds a softmax to a list.
///
/// Errors: INVALID_ARGUMENT for sizes that do not fit together, a matrix outside its buffer, or an
/// overlap; UNSUPPORTED for a matrix beyond 32-bit addresses or the device's largest binding, and
/// for rows that take more loop trips than the driver runs (2 million columns on lavapipe);
/// DEVICE_ERROR; INTERNAL_ERROR where the device computes wrongly. The list is then unchanged.
ROOFTILE_API rooftile_status rooftile_list_softmax(rooftile_list* list,
                                                   const rooftile_softmax_args* args,
                                                   rooftile_place x, rooftile_place y);

/// Product of two matrices element by element: z[i][j] := activation(x[i][j]) * y[i][j], as in a
/// gated MLP. NaN and infinity become what rooftile_activation says.
typedef struct rooftile_multiply_args {
  size_t struct_size;        ///< Set by the caller to sizeof(rooftile_multiply_args).
  int64_t rows, columns;     ///< At least 0.
  int64_t ld_x, ld_y, ld_z;  ///< At least columns.
  int64_t activation;        ///< A rooftile_activation.
} rooftile_multiply_args;

/// Adds a product to a list. Errors as rooftile_list_softmax.
ROOFTILE_API rooftile_status rooftile_list_multiply(rooftile_list* list,
                                                    const rooftile_multiply_args* args,
                                                    rooftile_place x, rooftile_place y,
                                                    rooftile_place z);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ROOFTILE_ROWS_H_ */
