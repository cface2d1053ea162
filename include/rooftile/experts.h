/// Rooftile: the way of tokens to their experts and back, so that a layer of a mixture of experts
/// is one list: choice of the experts, sorting, gathering of the rows that grouped.h multiplies,
/// and the weighted sum of their results. C programs include it beside rooftile.h; it is part of
/// rooftile.hpp. docs/grouped.md has an example.
///
/// Matrices are row-major in device buffers, with a leading dimension (ld) and offsets in elements
/// of 4 bytes: float32, or 32-bit signed integers where this is said. Operands and results lie
/// apart, unless a function says otherwise. All results are the same bits in every run. Rules for
/// buffers, order, threads and failures are those of resident.h: the functions are thread-safe, and
/// the work runs when the list does. Before a shader is used for the first time in a context, it is
/// compared with the host's result.
///
/// Numbers that lie on the device are checked there, when the list runs. What they must not name is
/// neither read nor written, and a status word, one integer, says so. It is written in each run,
/// and may be absent (no buffer).
///
/// Errors of all functions, with the list unchanged: INVALID_ARGUMENT for sizes that do not fit
/// together, a matrix outside its buffer, or an overlap; UNSUPPORTED for a matrix beyond 32-bit
/// addresses or the device's largest binding, for 2^31 pairs or rows, and for what takes more loop
/// trips than the driver runs (on lavapipe the 64 largest of 61,000 columns); DEVICE_ERROR;
/// INTERNAL_ERROR where the device computes wrongly.
#ifndef ROOFTILE_EXPERTS_H_
#define ROOFTILE_EXPERTS_H_

#include <rooftile/grouped.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rooftile_top_k_args {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_top_k_args).
  int64_t rows;        ///< Tokens, at least 0.
  int64_t columns;     ///< Experts, at least 1.
  int64_t chosen;      ///< Columns that are chosen of each row: 1 to 64, and at most `columns`.
  int64_t ld_x;        ///< At least columns.
  int64_t ld_experts, ld_weights;  ///< At least chosen.
  /// If it is not 0, the weights are the chosen columns' part of the softmax of the whole row, so
  /// that they add up to less than 1 (norm_topk_prob = false). Otherwise that of the chosen values.
  int64_t weights_of_all;
} rooftile_top_k_args;

/// Chooses the `chosen` largest values of each row of x (rows x columns). experts (rows x chosen
/// integers) are their columns, from the largest value on; of equal values the lower column comes
/// first; -0 equals 0. weights (rows x chosen) are the softmax of the chosen values: exp(value) /
/// sum, which is also the softmax of the whole row, made to add up to 1; or, with weights_of_all,
/// this softmax as it is. NaN counts as larger than every number.
/// The experts are therefore always distinct columns; the weights of a row are NaN if its largest
/// value is NaN or infinite, and that of -infinity is 0 otherwise.
ROOFTILE_API rooftile_status rooftile_list_top_k(rooftile_list* list,
                                                 const rooftile_top_k_args* args, rooftile_place x,
                                                 rooftile_place experts, rooftile_place weights);

typedef struct rooftile_group_tokens_args {
  size_t struct_size;             ///< Set by the caller to sizeof(rooftile_group_tokens_args).
  int64_t tokens;                 ///< At least 0.
  int64_t chosen;                 ///< Experts of each token, at least 1.
  int64_t experts;                ///< At least 1.
  int64_t ld_experts, ld_places;  ///< At least chosen.
} rooftile_group_tokens_args;

/// Sorts the pairs (token, expert) by expert, those of an expert in the order of the tokens.
/// experts_of_tokens (tokens x chosen integers) are the experts of each token. Results, all
/// integers:
/// - sizes (experts): pairs of each expert. As `rows` of rooftile_grouped_operands they are the
///   sizes of `experts` groups in m = tokens * chosen rows; their offset is then a multiple of 64.
/// - sources (tokens * chosen): the token of each sorted pair, for rooftile_list_gather.
/// - places (tokens x chosen): where each pair is among the sorted ones, for rooftile_list_combine.
/// - status: ROOFTILE_GROUPS_RIGHT, or ROOFTILE_GROUPS_UNKNOWN_EXPERT where an expert is not in
///   [0, experts). Its pair belongs to no group: its place is -1. As many sources at the end are
///   -1.
ROOFTILE_API rooftile_status rooftile_list_group_tokens(
    rooftile_list* list, const rooftile_group_tokens_args* args, rooftile_place experts_of_tokens,
    rooftile_place sizes, rooftile_place sources, rooftile_place places, rooftile_place status);

/// What gather and combine write to their status word.
typedef enum rooftile_rows_status {
  ROOFTILE_ROWS_RIGHT = 0,
  ROOFTILE_ROWS_OUTSIDE = 1  ///< A number is not a row of x and not -1.
} rooftile_rows_status;

typedef struct rooftile_gather_args {
  size_t struct_size;     ///< Set by the caller to sizeof(rooftile_gather_args).
  int64_t rows, columns;  ///< Of y, at least 0.
  int64_t rows_x;         ///< Rows of x, at least 0.
  int64_t ld_x, ld_y;     ///< At least columns.
} rooftile_gather_args;

/// y[i] := x[sources[i]]: copies rows of x (rows_x x columns) to y (rows x columns), whatever their
/// 32-bit elements are. sources are `rows` integers. Where one is -1, or no row of x, the row of y
/// is not written. status: a rooftile_rows_status.
ROOFTILE_API rooftile_status rooftile_list_gather(rooftile_list* list,
                                                  const rooftile_gather_args* args,
                                                  rooftile_place x, rooftile_place sources,
                                                  rooftile_place y, rooftile_place status);

typedef struct rooftile_combine_args {
  size_t struct_size;               ///< Set by the caller to sizeof(rooftile_combine_args).
  int64_t tokens;                   ///< Rows of y, at least 0.
  int64_t columns;                  ///< At least 0.
  int64_t chosen;                   ///< Rows of x that are added for each token, at least 1.
  int64_t rows_x;                   ///< Rows of x, at least 0.
  int64_t ld_x, ld_residual, ld_y;  ///< At least columns.
  int64_t ld_places, ld_weights;    ///< At least chosen.
} rooftile_combine_args;

/// y[t] := residual[t] + sum over i of weights[t][i] * x[places[t][i]], added in the order of i. x
/// is rows_x x columns, places (integers) and weights are tokens x chosen, residual and y tokens x
/// columns. The residual may be absent (no buffer: 0, ld_residual is not read), and y may be the
/// residual itself, with the same offset and ld. A place that is -1, or no row of x, adds nothing.
/// status: a rooftile_rows_status.
ROOFTILE_API rooftile_status rooftile_list_combine(rooftile_list* list,
                                                   const rooftile_combine_args* args,
                                                   rooftile_place x, rooftile_place places,
                                                   rooftile_place weights, rooftile_place residual,
                                                   rooftile_place y, rooftile_place status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ROOFTILE_EXPERTS_H_ */
