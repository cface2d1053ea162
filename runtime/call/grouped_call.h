// A grouped GEMM on operands in host memory, and the single GEMM of each of its groups.
#pragma once

#include <vector>

#include "core/groups.h"
#include "runtime/call/call.h"

namespace rooftile {

/// The problem has a grouping, and `call` points to the first rows and to the first expert's B.
struct GroupedCall {
  GemmCall call;
  std::vector<Group> groups;
};

/// Throws kInvalidArgument as validate() of the groups and validate_call().
void validate_call(const GroupedCall& call);

/// The single GEMM of a group that begins at this row.
GemmCall call_of_group(const GroupedCall& call, const Group& group, std::int64_t first_row);

/// The batch of as many matrices as groups have rows, with as much work: what models of calls know.
Problem equal_batch(const GroupedCall& call);

}  // namespace rooftile
