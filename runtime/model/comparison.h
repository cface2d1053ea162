// The problems of two published comparisons of matrix products with memory-bound operations: the
// arithmetic-intensity tables for an RTX 4060 and NVIDIA's GPU performance background, table 1.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "runtime/model/operations.h"

namespace rooftile {

struct ComparisonRow {
  std::string_view what;  // as published
  std::variant<Problem, SizedOperation> work;
};
/// Memory-bound operations first, then products by size.
std::vector<ComparisonRow> comparison_rows();

/// Flops, and bytes moved at least once.
Operation operation_of(const ComparisonRow& row);

}  // namespace rooftile
