#include "runtime/call/grouped_call.h"

#include <algorithm>

#include "runtime/call/call_checks.h"

namespace rooftile {

void validate_call(const GroupedCall& grouped) {
  const Problem& p = grouped.call.problem;
  validate(grouped.groups, p.m, p.grouping.experts);
  validate_call(grouped.call);
}

GemmCall call_of_group(const GroupedCall& grouped, const Group& group, std::int64_t first_row) {
  const GemmCall& all = grouped.call;
  const Problem& p = all.problem;
  GemmCall call = all;
  call.problem = one_product(p);
  call.problem.m = group.rows;
  call.a = behind(all.a, first_row * p.lda * bytes_of(p.types.a));
  call.c = const_cast<void*>(behind(all.c, first_row * p.ldc * bytes_of(p.types.c)));
  call.b = behind(all.b, bytes_of_b(p.types, group.expert * p.stride_b));
  if (has_separate_scales(p.types)) {
    const QuantizedBytes one = quantized_bytes(call.problem);
    call.scales = behind(all.scales, group.expert * one.scales);
    call.zero_points = behind(all.zero_points, group.expert * one.zero_points);
  }
  const EpilogueOperands& x = all.epilogue;
  const std::int64_t columns = group.expert * x.expert_columns;
  call.epilogue.row_scale = behind_elements(p, x.row_scale, first_row);
  call.epilogue.column_scale = behind_elements(p, x.column_scale, columns);
  call.epilogue.bias =
      behind_elements(p, x.bias, p.epilogue.bias == Bias::kRow ? first_row : columns);
  call.epilogue.residual = behind_elements(p, x.residual, first_row * x.ld_residual);
  call.epilogue.expert_columns = 0;
  return call;
}

Problem equal_batch(const GroupedCall& grouped) {
  Problem p = grouped.call.problem;
  p.m = rows_of(grouped.groups);
  return equal_batch(
      p, std::max<std::int64_t>(
             1, std::ranges::count_if(grouped.groups, [](const Group& g) { return g.rows > 0; })));
}

}  // namespace rooftile
