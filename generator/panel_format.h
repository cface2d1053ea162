// The layout of a packed operand in memory. Kernels whose formats are equal read the same panels.
#pragma once

#include <cstdint>
#include <optional>

#include "core/problem.h"
#include "core/variant.h"
#include "generator/emit.h"

namespace rooftile {

/// [padded_rows / panel_rows][padded_depth / group_k][panel_rows][group_k], where rows are those of
/// op(A) (m) or the columns of op(B) (n), and depth is k. Depth and group_k count float32 elements,
/// or words of 32 bits that hold several elements along k.
struct PanelFormat {
  int element_bits = 32;  // of what a word holds; 32: one float32, whatever the stored type
  int panel_rows = 0, group_k = 0;
  std::int64_t padded_rows = 0, padded_depth = 0;

  bool operator==(const PanelFormat&) const = default;
  std::int64_t words() const { return padded_rows * padded_depth; }  // of 32 bits, of one matrix
};

/// The format that the variant reads this operand in; nothing when it reads the operand as stored.
/// The other operand's size, the strides and the leading dimensions do not matter.
std::optional<PanelFormat> panel_format(const Variant& v, const Problem& p, Operand operand);

/// Of the time that packing takes, which is measured for both operands together: the share of one,
/// by what is written. 0 when the variant does not pack it.
double packing_share(const Variant& v, const Problem& p, Operand operand);

}  // namespace rooftile
