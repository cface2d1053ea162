#include "embed/kernel_facts.h"

#include <algorithm>
#include <limits>

#include "generator/layout.h"

namespace rooftile {
namespace {

rte_operand operand_facts(const Variant& v, const Signature& s, Operand operand) {
  const bool is_a = operand == Operand::kA, quantized_b = !is_a && quantized(s.types);
  const LoadElements load = load_elements(v, s), line = line_elements(v, s);
  const LoadPath path = is_a ? v.load_path_a : v.load_path_b;
  const PackLayout layout = pack_layout(v, s, operand);
  // A pack kernel reads a quantised B by words as well.
  const int width = quantized_b ? aligned_values(v, s.types) : is_a ? load.a : load.b;
  const bool windows = !is_a && reads_windows(v, s.types);
  return {.width = width,
          .line_width = std::min(width, is_a ? line.a : line.b),
          .texel = layout.packed && !quantized_b ? kTexelElements : width,
          .window = windows ? whole_vectors(s.types.b.format) : 0,
          .from_texels = path == LoadPath::kTexel && !(layout.packed && packs_words(v)),
          .load_bytes = quantized_b ? kElementBytes * words_width(v, s.types) : 0,
          .packed = layout.packed,
          .pad_rows = layout.packed ? layout.pad_rows : 1,
          .pad_k = layout.packed ? layout.pad_k : 1,
          .panel_rows = layout.packed ? layout.panel_rows : 1,
          .block = packs_words(v) ? 1 : 4,
          .along_depth = layout.contiguous_along_depth,
          .word_steps = steps_per_panel_word(v, s.types),
          .packed_texels = layout.packed && path == LoadPath::kTexel,
          .scale_texels = quantized_b && path == LoadPath::kTexel};
}

}  // namespace

rte_kernel kernel_facts(const Variant& v, const Signature& s) {
  const std::int64_t others = loop_trips(v, 0);
  return {.gemm = -1,
          .pack_a = -1,
          .pack_b = -1,
          .reduce = -1,
          .tile_m = v.tile_m,
          .tile_n = v.tile_n,
          .tile_batch = v.tile_batch,
          .split_k = v.split_k,
          .k_step = k_step(v),
          .dot = v.dot,
          .exact = v.edge == Edge::kExact,
          .column = v.raster == Raster::kColumn,
          .atomic = v.reduction == Reduction::kAtomic,
          .divides_k = may_divide_k(v, s),
          .least_k = recomputes_sums(v, s.types) ? least_depth_of_parts(s.types) : 0,
          .slowness = slowness(v, s.types),
          .trips = static_cast<int>(loop_trips(v, 1) - others),
          .other_trips = static_cast<int>(others),
          .local_x = local_size(v) / v.tile_batch,
          .local_y = v.tile_batch,
          .shared_bytes = static_cast<int>(shared_bytes(v, s)),
          .workgroup_scope = has_workgroup_scope(v),
          .shape = -1,
          .narrow_shape = -1,
          .a = operand_facts(v, s, Operand::kA),
          .b = operand_facts(v, s, Operand::kB)};
}

rte_class class_facts(const Signature& s) {
  const Types& t = s.types;
  const Storage storage = storage_of_b(t);
  const bool separate = has_separate_scales(t);
  const auto zero_points = [&] {
    if (!separate || t.b.zero_point == ZeroPoint::kMiddle) return 0;
    return t.b.zero_point == ZeroPoint::kPacked ? 1 : 2;
  };
  return {.trans_a = s.trans_a == Transpose::kYes,
          .trans_b = s.trans_b == Transpose::kYes,
          .bytes_a = static_cast<int>(bytes_of(t.a)),
          .b_elements = static_cast<int>(storage.elements),
          .b_bytes = static_cast<int>(storage.bytes),
          .bytes_c = static_cast<int>(bytes_of(t.c)),
          .block = t.b.block,
          .separate_scales = separate,
          .zero_points = zero_points(),
          .bits = t.b.bits,
          .integer_c = t.c == DataType::kI32,
          .most_k = is_8_bit(t.a) ? static_cast<int>(std::numeric_limits<std::int32_t>::max() /
                                                     largest_product(t.a))
                                  : std::numeric_limits<std::int32_t>::max(),
          .sums_are_c = t.c == DataType::kF32 && !is_8_bit(t.a),
          .row_scale = s.epilogue.row_scale,
          .column_scale = s.epilogue.column_scale,
          .bias = static_cast<int>(s.epilogue.bias),
          .residual = s.epilogue.residual,
          .clamp = s.epilogue.clamp,
          .epilogue = any(s.epilogue),
          .fallback = -1};
}

}  // namespace rooftile
