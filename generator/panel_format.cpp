#include "generator/panel_format.h"

#include "generator/layout.h"

namespace rooftile {

std::optional<PanelFormat> panel_format(const Variant& v, const Problem& p, Operand operand) {
  const PackLayout layout = pack_layout(v, signature_of(p), operand);
  if (!layout.packed) return std::nullopt;
  const std::int64_t rows = round_up(operand == Operand::kA ? p.m : p.n, layout.pad_rows);
  const bool words = packs_words(v);
  return PanelFormat{
      .element_bits = words ? static_cast<int>(8 * bytes_of(p.types.a)) : 8 * kElementBytes,
      .panel_rows = layout.panel_rows,
      .group_k = layout.group_k / steps_per_panel_word(v, p.types),
      .padded_rows = rows,
      .padded_depth = rows == 0 ? 0 : panel_words(v, p, operand) / rows};
}

}  // namespace rooftile
