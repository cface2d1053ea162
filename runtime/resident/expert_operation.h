// The way of tokens to their experts and back, around a list's grouped GEMMs: checks and steps.
#pragma once

#include "runtime/resident/row_operation.h"

namespace rooftile {

/// A list of 32-bit integers; without memory it is left out.
using IntegerList = RowMatrices;

/// chosen_columns := the columns of the `chosen` largest values of each row of x, in falling order,
/// and weights := the softmax of these values. Both have a row for each of x.
struct TopKCall {
  std::int64_t rows = 0, columns = 0, chosen = 0;
  bool weights_of_all = false;
  RowMatrices x, chosen_columns, weights;
};

/// Sorts the pairs of a token and one of its experts by expert. experts_of_tokens and places have
/// `chosen` integers for each token; sizes one for each expert; sources one for each pair.
struct GroupTokensCall {
  std::int64_t tokens = 0, chosen = 0, experts = 0;
  RowMatrices experts_of_tokens;
  IntegerList sizes, sources;
  RowMatrices places;
  IntegerList status;
};

/// y[i] := x[sources[i]] for each of `rows` rows; x has rows_x.
struct GatherCall {
  std::int64_t rows = 0, columns = 0, rows_x = 0;
  RowMatrices x;
  IntegerList sources;
  RowMatrices y;
  IntegerList status;
};

/// y[t] := residual[t] + the sum over i of weights[t][i] * x[places[t][i]], i in [0, chosen). A
/// residual without memory is left out.
struct CombineCall {
  std::int64_t tokens = 0, columns = 0, chosen = 0, rows_x = 0;
  RowMatrices x, places, weights, residual, y;
  IntegerList status;
};

/// Bind a call whose shader is compiled. Throw as those of row_operation.h; operands and results
/// lie apart, but y of a CombineCall may be its residual.
RowOperation row_operation(const TopKCall& call, std::shared_ptr<const Pipeline> top_k,
                           const DeviceLimits& limits);
RowOperation row_operation(const GroupTokensCall& call,
                           std::shared_ptr<const Pipeline> group_tokens,
                           const DeviceLimits& limits);
RowOperation row_operation(const GatherCall& call, std::shared_ptr<const Pipeline> gather,
                           const DeviceLimits& limits);
RowOperation row_operation(const CombineCall& call, std::shared_ptr<const Pipeline> combine,
                           const DeviceLimits& limits);

}  // namespace rooftile
