// Where the operands of a case lie on a device.
#pragma once

#include <cstdint>
#include <utility>

#include "soak_operands.h"

namespace rooftile {

/// Buffers::put() copies bytes to an offset of a new buffer, and returns a place in that buffer.
template <typename Buffers>
struct Placed {
  typename Buffers::Operands places = {.struct_size = sizeof places};
  std::int64_t c_offset_bytes = 0;
};

template <typename Buffers>
Placed<Buffers> place(const SoakCase& test, SoakOperands& operands, Buffers& buffers) {
  constexpr std::int64_t kAlignment = 256;  // bytes, of a quantised B, its scales and zero points
  using Place = typename Buffers::Place;
  const auto at_offset = [](Place buffer, std::int64_t offset) {
    buffer.offset = offset;
    return buffer;
  };
  const Types& t = test.problem.types;
  const Placement& at = operands.placement();
  const std::int64_t shift = test.shift;
  Placed<Buffers> x;
  auto& places = x.places;
  x.c_offset_bytes = shift * bytes_of(t.c);
  places.a = at_offset(buffers.put(operands.a, shift * bytes_of(t.a)), shift + at.offset_a);
  places.b = quantized(t)
                 ? at_offset(buffers.put(operands.b, shift * kAlignment), shift * kAlignment)
                 : at_offset(buffers.put(operands.b, shift * bytes_of(t.a)), shift + at.offset_b);
  if (test.alias == Alias::kAB) places.b = places.a;
  places.c = at_offset(buffers.put(operands.c, x.c_offset_bytes), shift + at.offset_c);
  if (has_separate_scales(t)) {
    places.scales = at_offset(buffers.put(operands.scales, shift * kAlignment),
                              shift * kAlignment / bytes_of(t.a));
    const std::int64_t element = t.b.zero_point == ZeroPoint::kFloat ? bytes_of(t.a) : 1;
    if (t.b.zero_point != ZeroPoint::kMiddle)
      places.zero_points = at_offset(buffers.put(operands.zero_points, shift * kAlignment),
                                     shift * kAlignment / element);
  }
  const Epilogue& e = test.problem.epilogue;
  const Place vectors = e.row_scale || e.column_scale || e.bias != Bias::kNone
                            ? buffers.put(operands.vectors, shift * bytes_of(epilogue_type(t)))
                            : Place{};
  if (e.row_scale) places.row_scale = at_offset(vectors, shift + at.offset_row_scale);
  if (e.column_scale) places.column_scale = at_offset(vectors, shift + at.offset_column_scale);
  if (e.bias != Bias::kNone) places.bias = at_offset(vectors, shift + at.offset_bias);
  if (e.residual)
    places.residual =
        test.alias == Alias::kResidual
            ? places.c
            : at_offset(buffers.put(operands.residual, shift * bytes_of(epilogue_type(t))), shift);
  if (test.layout == Layout::kColumnMajor) {
    std::swap(places.a, places.b);
    std::swap(places.row_scale, places.column_scale);
  }
  return x;
}

}  // namespace rooftile
