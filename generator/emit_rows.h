// Shaders of what a list of calls does to float32 matrices between its GEMMs: softmax of rows, and
// products element by element. They have no variants and are not tuned.
#pragma once

#include <cstdint>

#include "core/epilogue.h"
#include "generator/emit.h"

namespace rooftile {

inline constexpr int kRowsLocalSize = 64;

/// Byte for byte as in templates/softmax.comp, where the fields are explained. Offsets are in
/// elements.
struct SoftmaxPushConstants {
  std::uint32_t rows, columns, batch;
  std::uint32_t base_x, ld_x, stride_x;
  std::uint32_t base_y, ld_y, stride_y;
  float scale;
  std::int32_t first_columns;
  std::uint32_t columns_per_row;
};
/// Byte for byte as in templates/multiply.comp.
struct MultiplyPushConstants {
  std::uint32_t rows, columns;
  std::uint32_t base_x, ld_x;
  std::uint32_t base_y, ld_y;
  std::uint32_t base_z, ld_z;
};

/// Bindings: 0 is x, 1 is y; both may be of one buffer. A workgroup computes a row.
Shader emit_softmax();

/// Bindings: 0 is x, 1 is y, 2 is z := activation(x) * y; all may be of one buffer.
Shader emit_multiply(Activation activation);

}  // namespace rooftile
