// Facts about a kernel that a parser cannot read in its assembly.
#pragma once

#include <cstdint>

namespace rooftile {

/// Whether multiplications of integers are the work of a kernel, and so count as multiply-adds, or
/// belong to its addresses. They are work where integers are multiplied neither by matrix units nor
/// by dot products.
enum class IntegerProducts : std::uint8_t { kAreAddresses, kAreWork };

struct AssemblyContext {
  std::uint32_t subgroup_size = 0;
  IntegerProducts integer_products = IntegerProducts::kAreAddresses;
};

}  // namespace rooftile
