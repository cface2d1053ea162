// Conversion of the C ABI's grouped calls to the types of the runtime.
#pragma once

#include <rooftile/rooftile.h>

#include "runtime/call/grouped_call.h"

namespace rooftile {

/// The groups of a call on host memory, or whose sizes come from the host. Throws kInvalidArgument
/// for null arrays, negative counts, and what validate() of the groups refuses for a call of m
/// rows.
std::vector<Group> host_groups(const rooftile_groups& groups, std::int64_t m);

/// Throws kInvalidArgument, naming the field, for counts that no call may have.
void check_counts(const rooftile_groups& groups);

GroupedCall checked_call(const rooftile_gemm_args* args, const rooftile_groups* groups);

}  // namespace rooftile
