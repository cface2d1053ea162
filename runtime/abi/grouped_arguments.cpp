#include "runtime/abi/grouped_arguments.h"

#include <limits>

#include "core/error.h"
#include "runtime/abi/c_api_arguments.h"

namespace rooftile {
namespace {

// Kernels count groups and experts in 32 bits.
constexpr std::int64_t kMostGroups = std::numeric_limits<std::int32_t>::max();

}  // namespace

void check_counts(const rooftile_groups& groups) {
  if (groups.count < 0 || groups.count > kMostGroups)
    fail(ErrorCode::kInvalidArgument, "groups->count is {}; it is from 0 to {}", groups.count,
         kMostGroups);
  if (groups.experts < 1 || groups.experts > kMostGroups)
    fail(ErrorCode::kInvalidArgument, "groups->experts is {}; it is from 1 to {}", groups.experts,
         kMostGroups);
  if (groups.stride_columns < 0)
    fail(ErrorCode::kInvalidArgument, "groups->stride_columns is {}", groups.stride_columns);
}

std::vector<Group> host_groups(const rooftile_groups& groups, std::int64_t m) {
  if (groups.count > 0 && groups.rows == nullptr)
    fail(ErrorCode::kInvalidArgument, "groups->rows is null");
  std::vector<Group> list(static_cast<std::size_t>(groups.count));
  for (std::size_t g = 0; g < list.size(); ++g) {
    const bool own = groups.experts_of_groups != nullptr;
    list[g] = {.expert = own ? groups.experts_of_groups[g] : static_cast<std::int64_t>(g),
               .rows = groups.rows[g]};
  }
  validate(list, m, groups.experts);
  return list;
}

GroupedCall checked_call(const rooftile_gemm_args* given, const rooftile_groups* given_groups) {
  const Given args("args", given);
  const Given groups("groups", given_groups);
  check_counts(*groups);
  if (args->packed != nullptr)
    fail(ErrorCode::kInvalidArgument,
         "packed is not NULL, but grouped calls on host memory read B as stored");
  std::vector<Group> list = host_groups(*groups, args->m);
  GemmCall call =
      checked_grouped_call(&*args, grouping_of(list, groups->experts), groups->stride_columns);
  return {std::move(call), std::move(list)};
}

}  // namespace rooftile
