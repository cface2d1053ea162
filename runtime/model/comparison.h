// Problems of two published comparisons of GEMM with memory-bound operations: the
// arithmetic-intensity tables for an RTX 4060, and NVIDIA's GPU performance background, table 1.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "runtime/model/operations.h"

namespace rooftile {

struct ComparisonRow {
  std::string_view what;  ///< As published.
  std::variant<Problem, SizedOperation> work;
};
/// Memory-bound operations first, then GEMMs by size.
std::vector<ComparisonRow> comparison_rows();

/// Flops, and the minimum number of bytes moved.
Operation operation_of(const ComparisonRow& row);

}  // namespace rooftile
