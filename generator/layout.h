// Figures that follow from a variant and that emit, rules and plan must agree on. Internal to
// generator/.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/round.h"
#include "core/variant.h"
#include "generator/emit.h"
#include "generator/rules.h"
#include "generator/signature.h"

namespace rooftile {

inline constexpr int kPackLocalSize = 64;
inline constexpr int kReduceLocalSize = 64;
inline constexpr int kLargestTile = 1024;  // of any tile or register size
inline constexpr int kElementBytes = 4;
inline constexpr int kTexelElements = 4;  // RGBA32, and the vectors that pack kernels write

/// Panels are float32 whatever the stored operand is, or words of four 8-bit integers for packed
/// dot products, which read their operands so in any case.
inline DataType type_read(const Variant& v, const Signature& s, Packed packed) {
  if (v.dot > 1) return DataType::kI32;
  return packed == Packed::kYes ? DataType::kF32 : s.types.a;
}

/// Steps of k as a kernel counts them: elements, or words of them.
inline std::int64_t kernel_depth(const Variant& v, std::int64_t k) { return divide_up(k, v.dot); }

/// Of the parts of a split product.
inline DataType part_type(const Types& t) {
  return sum_type(t) == DataType::kI32 ? DataType::kI32 : DataType::kF32;
}

/// Whether a trip of the k loop is a tile with a loop of its own inside.
inline bool nests_k_loop(const Variant& v) {
  return v.family == Family::kTiled || v.family == Family::kMatrix;
}
/// Whether a trip of the k loop is a tile.
inline bool has_k_tiles(const Variant& v) { return nests_k_loop(v) || v.family == Family::kVector; }
/// Depth of one trip of the k loop: what k must be a multiple of when there are no checks.
inline int k_step(const Variant& v) { return has_k_tiles(v) ? v.tile_k : v.unroll_k; }

/// Rows of tiles that a grouped raster runs through together; 0 for the others.
inline int raster_group(const Variant& v) {
  switch (v.raster) {
    case Raster::kGrouped4:
      return 4;
    case Raster::kGrouped8:
      return 8;
    case Raster::kGrouped16:
      return 16;
    default:
      return 0;
  }
}

/// Steps of k (kernel_depth) that one part of a split product has, a multiple of a trip; all of k
/// when not split.
inline std::int64_t split_depth(const Variant& v, std::int64_t k) {
  const std::int64_t depth = kernel_depth(v, k);
  return v.split_k == 1 ? depth : round_up(divide_up(depth, v.split_k), k_step(v));
}
/// Parts that this really makes.
inline std::int64_t parts_of(const Variant& v, std::int64_t k) {
  return k == 0 ? 1 : divide_up(kernel_depth(v, k), split_depth(v, k));
}

/// Whether the kernel itself reads a quantised B, rather than panels made from it.
inline bool reads_quantized(const Variant& v, const Signature& s) {
  return quantized(s.types) && v.packed_b == Packed::kNo;
}
/// Values in a word of a quantised B, and words a load takes.
inline int values_per_word(const Types& t) { return 32 / t.b.bits; }
inline int words_width(const Variant& v) {
  const bool vectors = !nests_k_loop(v) && v.packed_b == Packed::kNo;
  return vectors && v.vector_width_b == 4 ? 4 : 1;
}

/// Parts of a split product that lie in memory.
inline std::int64_t stored_parts(const Variant& v, std::int64_t k) {
  return v.reduction == Reduction::kAtomic ? 1 : parts_of(v, k);
}

/// Elements a load of the operand as stored really takes: vectors that do not run along k need
/// enough rows (columns) in an invocation, else it is read element by element.
inline int load_width_a(const Variant& v, const Signature& s) {
  if (v.family == Family::kMatrix) return v.vector_width_a;
  const bool along_k = v.packed_a == Packed::kYes || s.trans_a == Transpose::kNo;
  return along_k || v.reg_m % v.vector_width_a == 0 ? v.vector_width_a : 1;
}
inline int load_width_b(const Variant& v, const Signature& s) {
  if (reads_quantized(v, s)) return 1;  // it is read by words: words_width
  if (v.family == Family::kMatrix) return v.vector_width_b;
  const bool along_k = v.packed_b == Packed::kNo && s.trans_b == Transpose::kYes;
  return along_k || v.reg_n % v.vector_width_b == 0 ? v.vector_width_b : 1;
}

/// Components of the vectors that sums and C come in. Shared tiles are always read as vectors of
/// four; elsewhere a vector of C is a vector of B, unless B's vectors run along k.
inline int vector_width_c(const Variant& v, const Signature& s) {
  if (nests_k_loop(v)) return 4;
  return v.packed_b == Packed::kNo && s.trans_b == Transpose::kYes ? 1 : load_width_b(v, s);
}

/// Steps of a masked trip at the end of k: the longest vector that runs along k.
inline int tail_k(const Variant& v, const Signature& s) {
  if (v.stage == Stage::kSubgroup) return v.unroll_k;  // lanes share a whole group of packed A
  if (reads_quantized(v, s)) return values_per_word(s.types);
  const bool a_along_k = v.packed_a == Packed::kYes || s.trans_a == Transpose::kNo;
  const bool b_along_k = v.packed_b == Packed::kNo && s.trans_b == Transpose::kYes;
  return std::max(a_along_k ? load_width_a(v, s) : 1, b_along_k ? load_width_b(v, s) : 1);
}

/// Whether trips of the k loop are whole without checks: k is a multiple of them, or padded.
inline bool has_whole_trips(const Variant& v) {
  return v.edge == Edge::kExact || (v.packed_a == Packed::kYes && v.packed_b == Packed::kYes);
}
/// Whether the k loop has masked trips of tail_k behind the whole ones.
inline bool has_tail(const Variant& v) { return !nests_k_loop(v) && !has_whole_trips(v); }

/// Whether neighbouring invocations of a vector kernel lie along k: the operand of the many rows or
/// columns is contiguous along it.
inline bool k_fastest(const Variant& v, const Signature& s) {
  const bool few_rows = v.tile_m == v.reg_m;
  return few_rows ? s.trans_b == Transpose::kYes : s.trans_a == Transpose::kNo;
}

/// Whether some matrix unit of the device multiplies in a matrix kernel's shape and scope, of those
/// whose shape or unit keep(MatrixShape) accepts.
template <typename Keep>
bool offers_matrix(const Variant& v, const DeviceLimits& d, Keep keep) {
  if (has_workgroup_scope(v))
    return std::ranges::any_of(d.workgroup_matrices, [&](const WorkgroupMatrix& matrix) {
      return keep(matrix.unit) && has_unit(v, matrix, d.max_matrix_dimension);
    });
  return std::ranges::any_of(
             d.matrix_shapes,
             [&](const MatrixShape& shape) { return keep(shape) && has_shape(v, shape); }) ||
         std::ranges::any_of(d.matrix_granularities, [&](const MatrixShape& unit) {
           return keep(unit) && has_multiple(v, unit, d.max_matrix_dimension);
         });
}

/// Whether the invocations of a tiled workgroup lie in blocks of subgroup_m x subgroup_n of C. As
/// many as follow each other in the workgroup own one: on most devices a subgroup or part of one.
inline bool has_subgroup_tiles(const Variant& v) {
  return v.family == Family::kTiled && v.subgroup_m > 0;
}

/// Whether a tiled workgroup splits into the 8 x 4 blocks of templates/lanes_blocked.glsl.
inline bool lanes_in_blocks(const Variant& v) {
  return v.tile_n / v.reg_n % 8 == 0 && v.tile_m / v.reg_m % 4 == 0;
}

/// Rows of a workgroup's matrix that pass through shared memory together on their way to C: as many
/// as divide the tile and take at most this. 16 KiB is what every device has, and leaves the driver
/// the rest for operands.
inline constexpr std::int64_t kPieceBytes = 16384;
inline int piece_rows(const Variant& v, const Types& t) {
  const std::int64_t row_bytes = v.tile_n * bytes_of(sum_type(t));
  int rows = v.tile_m;
  while (rows > 1 && (v.tile_m % rows != 0 || rows * row_bytes > kPieceBytes)) --rows;
  return rows;
}

/// Elements that a vector width counts as one: those of a word where operands are read by words.
inline int elements_per_word(const Variant& v, const Types& t) {
  return v.family == Family::kMatrix ? static_cast<int>(kElementBytes / bytes_of(t.a)) : v.dot;
}

/// Whether panels are words of several elements (templates/pack_words.comp).
inline bool packs_words(const Variant& v) { return v.dot > 1 || v.family == Family::kMatrix; }

/// Steps of kernel_depth in a word of panels: packed dot products count words already.
inline int steps_per_panel_word(const Variant& v, const Types& t) {
  return v.family == Family::kMatrix ? elements_per_word(v, t) : 1;
}

/// Panels of one packed operand, in the words of templates/pack.comp and pack_words.comp. Steps are
/// those of kernel_depth.
struct PackLayout {
  bool packed;
  int panel_rows, group_k, pad_rows, pad_k;
  LoadPath path;
  bool contiguous_along_depth;  // as stored
};
inline PackLayout pack_layout(const Variant& v, const Signature& s, Operand operand) {
  const bool is_a = operand == Operand::kA;
  PackLayout layout = {
      .packed = (is_a ? v.packed_a : v.packed_b) == Packed::kYes,
      .panel_rows = is_a ? v.tile_m : v.tile_n,
      .group_k = is_a ? v.unroll_k : 1,
      .pad_rows = is_a ? v.tile_m : v.tile_n,
      .pad_k = v.unroll_k,
      .path = is_a ? v.load_path_a : v.load_path_b,
      .contiguous_along_depth = is_a == ((is_a ? s.trans_a : s.trans_b) == Transpose::kNo)};
  if (v.family == Family::kMatrix) {  // panels of fragments
    layout.panel_rows = is_a ? v.matrix_m : v.matrix_n;
    layout.group_k = v.matrix_k;
    layout.pad_k = v.tile_k;
  }
  return layout;
}

/// Elements (words for packed dot products) of the panels of one product's operand.
inline std::int64_t panel_elements(const Variant& v, const Problem& p, Operand operand) {
  const PackLayout layout = pack_layout(v, signature_of(p), operand);
  return round_up(operand == Operand::kA ? p.m : p.n, layout.pad_rows) *
         round_up(kernel_depth(v, p.k), layout.pad_k);
}
/// Words of 32 bits that they take.
inline std::int64_t panel_words(const Variant& v, const Problem& p, Operand operand) {
  return panel_elements(v, p, operand) / steps_per_panel_word(v, p.types);
}

/// The kernel that "jott.live/html/webgpu_demo.html" found for an M1: a float4 of B times 4 rows, k
/// in steps of 4.
inline bool is_browser_tuners_kernel(const Variant& v) {
  return v.family == Family::kRegister && v.tile_m == 8 && v.tile_n == 32 && v.reg_m == 4 &&
         v.reg_n == 4 && v.unroll_k == 4 && v.vector_width_a == 4 && v.vector_width_b == 4 &&
         v.raster == Raster::kColumn && v.load_path_a == LoadPath::kBuffer &&
         v.load_path_b == LoadPath::kBuffer && v.packed_a == Packed::kNo &&
         v.packed_b == Packed::kNo;
}

}  // namespace rooftile
