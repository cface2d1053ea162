// The layout of a packed operand in memory. Kernels of equal formats can read the same packed
// operand.
#pragma once

#include <cstdint>
#include <optional>

#include "core/problem.h"
#include "core/variant.h"
#include "generator/emit.h"

namespace rooftile {

/// The array [padded_rows / panel_rows][padded_depth / group_k][panel_rows][group_k]. Rows are
/// those of op(A) (m) or the columns of op(B) (n), and depth is k. padded_depth and group_k count
/// elements, or 32-bit words that hold several elements along k.
struct PackedFormat {
  // Bits of an element: 64 of float64, 32 of all other stored types, fewer in words of several.
  int element_bits = 32;
  int panel_rows = 0, group_k = 0;
  std::int64_t padded_rows = 0, padded_depth = 0;

  bool operator==(const PackedFormat&) const = default;
  /// 32-bit words of a matrix.
  std::int64_t words() const { return padded_rows * padded_depth * (element_bits > 32 ? 2 : 1); }
};

/// Whether the kernel reads an operand that is packed for it.
inline bool packs(const Variant& v) {
  return v.packed_a == Packed::kYes || v.packed_b == Packed::kYes;
}

/// The format in which the variant reads this operand; nothing where it reads the operand as
/// stored. Independent of the other operand's size, of strides and of leading dimensions.
std::optional<PackedFormat> packed_format(const Variant& v, const Problem& p, Operand operand);

/// Share of one operand in the time of packing, which is measured for both together, estimated by
/// the words that are written. 0 where the variant does not pack it.
double packing_share(const Variant& v, const Problem& p, Operand operand);

}  // namespace rooftile
