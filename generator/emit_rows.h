// Shaders of what a list of calls does to matrices between its GEMMs: softmax of rows, products
// element by element, and the way of tokens to their experts and back. They have no variants and
// are not tuned.
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
/// Byte for byte as in templates/top_k.comp.
struct TopKPushConstants {
  std::uint32_t rows, columns;
  std::uint32_t chosen, weights_of_all;
  std::uint32_t base_x, ld_x;
  std::uint32_t base_columns, ld_columns;
  std::uint32_t base_weights, ld_weights;
};
/// Byte for byte as in templates/group_tokens.comp.
struct GroupTokensPushConstants {
  std::uint32_t tokens, chosen, experts;
  std::uint32_t base_experts, ld_experts;
  std::uint32_t base_sizes;
  std::uint32_t base_sources;
  std::uint32_t base_places, ld_places;
  std::uint32_t base_status;
  std::uint32_t has_status;
};
/// Byte for byte as in templates/gather.comp.
struct GatherPushConstants {
  std::uint32_t rows, columns, rows_x;
  std::uint32_t base_x, ld_x;
  std::uint32_t base_sources;
  std::uint32_t base_y, ld_y;
  std::uint32_t base_status;
  std::uint32_t has_status;
};
/// Byte for byte as in templates/combine.comp.
struct CombinePushConstants {
  std::uint32_t tokens, columns, chosen, rows_x;
  std::uint32_t base_x, ld_x;
  std::uint32_t base_places, ld_places;
  std::uint32_t base_weights, ld_weights;
  std::uint32_t base_residual, ld_residual;
  std::uint32_t base_y, ld_y;
  std::uint32_t base_status;
  std::uint32_t has_residual, has_status;
};

/// The most values of a row that emit_top_k's shader chooses.
inline constexpr int kMostChosen = 64;

/// Bindings: 0 is x, 1 is y; both may be of one buffer. A workgroup computes a row.
Shader emit_softmax();

/// Bindings: 0 is x, 1 is y, 2 is z := activation(x) * y; all may be of one buffer.
Shader emit_multiply(Activation activation);

/// Bindings: 0 is x, 1 the chosen columns, 2 the weights. A workgroup chooses for a row.
Shader emit_top_k();

/// Bindings: 0 is the expert of each pair, 1 the sizes, 2 the sources, 3 the places, 4 the status.
/// A workgroup takes an expert.
Shader emit_group_tokens();

/// Bindings: 0 is x, 1 the sources, 2 y, 3 the status.
Shader emit_gather();

/// Bindings: 0 is x, 1 the places, 2 the weights, 3 the residual, 4 y, which may be the residual, 5
/// the status.
Shader emit_combine();

}  // namespace rooftile
