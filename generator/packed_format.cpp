#include "generator/packed_format.h"

#include "generator/layout.h"

namespace rooftile {

std::optional<PackedFormat> packed_format(const Variant& v, const Problem& p, Operand operand) {
  const PackLayout layout = pack_layout(v, signature_of(p), operand);
  if (!layout.packed) return std::nullopt;
  const std::int64_t rows = round_up(operand == Operand::kA ? p.m : p.n, layout.pad_rows);
  const bool words = packs_words(v);
  return PackedFormat{.element_bits = words ? static_cast<int>(8 * bytes_of(p.types.a))
                                            : static_cast<int>(8 * element_bytes(p.types)),
                      .panel_rows = layout.panel_rows,
                      .group_k = layout.group_k / steps_per_panel_word(v, p.types),
                      .padded_rows = rows,
                      .padded_depth = rows == 0 ? 0 : panel_stride(v, p, operand) / rows};
}

double packing_share(const Variant& v, const Problem& p, Operand operand) {
  const auto words = [&](Operand of) {
    const auto format = packed_format(v, p, of);
    const std::int64_t matrices = of == Operand::kB && p.stride_b != 0 ? matrices_b(p) : 1;
    return format ? static_cast<double>(format->words() * matrices) : 0.0;
  };
  const double a = words(Operand::kA), b = words(Operand::kB);
  return a + b > 0 ? (operand == Operand::kA ? a : b) / (a + b) : 0;
}

}  // namespace rooftile
