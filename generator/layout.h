// The sizes that follow from a variant: depth of loop trips, widths of loads, packed operands,
// partial sums. emit, rules and plan, and the predictions of runtime/model, must agree on them, so
// each is defined here once. All functions are pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "core/round.h"
#include "core/variant.h"
#include "generator/rules.h"
#include "generator/signature.h"
#include "generator/unit_operands.h"

namespace rooftile {

inline constexpr int kPackLocalSize = 64;
inline constexpr int kReduceLocalSize = 64;
inline constexpr int kGroupTilesLocalSize = 64;
inline constexpr int kLargestTile = 1024;  // of any tile or register size
inline constexpr int kMostSlices = 256;    // of k, with split-K
inline constexpr int kElementBytes = 4;
inline constexpr int kWidestLoadBytes = 16;  // from a buffer, but of float64 (load_bytes)
inline constexpr int kTexelElements = 4;  // of RGBA32; also of the vectors that pack kernels write
/// The widest load of operands of this type.
constexpr std::int64_t load_bytes(DataType type) {
  return std::max<std::int64_t>(kWidestLoadBytes, kTexelElements * bytes_of(type));
}

/// Bytes of an element in the registers and the shared memory of a kernel that has no matrix units,
/// in a packed operand and in a partial sum.
inline std::int64_t element_bytes(const Types& t) { return is_float64(t) ? 8 : kElementBytes; }
/// The same in 32-bit words.
inline int words_of_element(const Types& t) {
  return static_cast<int>(element_bytes(t) / kElementBytes);
}

/// Type in which a GEMM kernel reads an operand. Packed operands are float32 whatever their stored
/// type, but for float64. Packed dot products read words of four 8-bit integers, packed operand or
/// not.
inline DataType type_read(const Variant& v, const Signature& s, Packed packed) {
  if (v.dot > 1) return DataType::kI32;
  return packed == Packed::kYes && !is_float64(s.types) ? DataType::kF32 : s.types.a;
}

/// k as a kernel counts it: in elements, or in words of four for packed dot products.
inline std::int64_t kernel_depth(const Variant& v, std::int64_t k) { return divide_up(k, v.dot); }

/// Type of the partial sums of a split-K GEMM.
inline DataType part_type(const Types& t) {
  return sum_type(t) == DataType::kF16 ? DataType::kF32 : sum_type(t);
}

/// Whether one iteration of the loop over k handles a tile by a loop of its own.
inline bool nests_k_loop(const Variant& v) {
  return v.family == Family::kTiled || v.family == Family::kMatrix;
}
/// Whether one iteration of the loop over k handles a depth of tile_k.
inline bool has_k_tiles(const Variant& v) { return nests_k_loop(v) || v.family == Family::kVector; }
/// Depth of one iteration of the loop over k: k must be a multiple of it where nothing is masked.
inline int k_step(const Variant& v) { return has_k_tiles(v) ? v.tile_k : v.unroll_k; }

/// Whether a vector kernel takes the columns of a quantised B in a loop: so many that their
/// unrolled text would be long, and one column's values are all that it holds of B.
inline bool may_loop_over_columns(const Variant& v) {
  return v.family == Family::kVector && v.reg_n >= 8;
}
/// Elements of a vector of A in the shared memory of a vector kernel, and how many of these a row
/// has for one invocation: an odd number, so that lanes along k read different banks
/// (templates/fragment/a_shared.glsl).
inline int shared_vector_of_a(const Variant& v, const Types& t) {
  return multiplies_int8(v, t) ? 16 : v.vector_width_a;
}
inline int vectors_of_lane(const Variant& v, const Types& t) {
  return v.unroll_k / shared_vector_of_a(v, t) | 1;
}
/// Number of values that an invocation of a register kernel holds at once: its sums and the
/// fragments of one trip, in which B has so many columns.
inline int live_values(const Variant& v, int columns) {
  if (v.family == Family::kMatrix) return 0;  // fragments have a rule of their own
  const int depth = v.family == Family::kTiled ? 1 : v.unroll_k;
  // Beside sums in float32 lie those of the integers that share scales.
  const int sums = v.family == Family::kTiled && v.stage == Stage::kStored ? 2 : 1;
  return sums * v.reg_m * v.reg_n + depth * (v.reg_m + columns);
}
/// The most of them for register kernels.
inline constexpr int kMostLiveRegister = 320;

/// Rows of tiles in a group of a grouped raster; 0 for the other rasters.
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

/// Steps of k (of kernel_depth) in one split of split-K, a multiple of k_step(); all of them
/// without split-K.
inline std::int64_t split_depth(const Variant& v, std::int64_t k) {
  const std::int64_t depth = kernel_depth(v, k);
  return v.split_k == 1 ? depth : round_up(divide_up(depth, v.split_k), k_step(v));
}
/// Number of splits that are not empty.
inline std::int64_t k_slices_of(const Variant& v, std::int64_t k) {
  return k == 0 ? 1 : divide_up(kernel_depth(v, k), split_depth(v, k));
}

/// Upper bound of the trips of all loops of an invocation, including the checks that end a loop,
/// where the loop over k runs so many trips.
inline std::int64_t loop_trips(const Variant& v, std::int64_t k_trips) {
  constexpr std::int64_t kEnds = 2;  // of a loop: its last check, and one that a driver may add
  const bool nested = nests_k_loop(v);
  const std::int64_t inner = nested ? v.tile_k / (v.unroll_k * v.subgroups_k) + kEnds : 0;
  const std::int64_t tail = nested ? 0 : v.unroll_k;
  // Trips that store fragments to C.
  const std::int64_t stores =
      v.family == Family::kMatrix
          ? std::int64_t{v.subgroup_m} * v.subgroup_n / v.subgroup_size + v.subgroup_m
          : v.reg_m;
  return k_trips * (1 + inner) + tail + stores + 3 * kEnds;
}
/// Most steps of k (of kernel_depth) that the loops of one dispatch may run on this device, a
/// multiple of k_step(); 0: not even one trip.
inline std::int64_t longest_depth(const Variant& v, const DeviceLimits& d) {
  if (d.max_loop_trips == 0)
    return std::numeric_limits<std::int64_t>::max() / k_step(v) * k_step(v);
  const std::int64_t others = loop_trips(v, 0);
  const std::int64_t left = std::max<std::int64_t>(d.max_loop_trips - others, 0);
  return left / (loop_trips(v, 1) - others) * k_step(v);
}

/// Whether the kernel itself reads a quantised B, rather than a packed operand made from it.
inline bool reads_quantized(const Variant& v, const Signature& s) {
  return quantized(s.types) && v.packed_b == Packed::kNo;
}
/// Whether several dispatches of the kernel, each for a range of k, make the sum of all: C is in
/// the type of the sums, so that the later ones add to it without another rounding, and operands
/// are addressed by the step of k alone.
inline bool may_divide_k(const Variant& v, const Signature& compiled) {
  return v.split_k == 1 && v.reduction == Reduction::kOrdered && !compiled.grouped &&
         !any(compiled.epilogue) && !reads_quantized(v, compiled) &&
         compiled.types.c == sum_type(compiled.types) &&
         bytes_of(compiled.types.c) >= kElementBytes;
}
/// What the gemm kernel itself is compiled for: with split-K it writes plain partial sums, and the
/// reduce kernel applies the epilogue.
inline Signature gemm_signature(const Variant& v, Signature s) {
  if (v.split_k == 1) return s;
  s.epilogue = {};
  s.types.c = part_type(s.types);
  return s;
}
inline bool loops_over_columns(const Variant& v, const Signature& s) {
  return reads_quantized(v, s) && may_loop_over_columns(v);
}
/// Whether blocks are read by windows of half a block, because a block is large and not whole
/// vectors.
constexpr bool has_half_windows(const BlockLayout& layout) {
  return layout.elements == 256 && layout.bytes % 16 != 0;
}
/// Elements of the fewest blocks that are whole words, or of half a block of 256. 0 where blocks
/// are whole vectors, and for separate scales: they are not read by windows
/// (templates/load/block_words.glsl).
inline int least_window(BlockFormat format) {
  if (format == BlockFormat::kSeparate) return 0;
  const BlockLayout& layout = layout_of(format);
  if (layout.bytes % 16 == 0) return 0;
  return has_half_windows(layout) ? layout.elements / 2
                                  : 4 / std::gcd(4, layout.bytes) * layout.elements;
}
/// Elements of the fewest blocks that are whole vectors of four words.
inline int whole_vectors(BlockFormat format) {
  const BlockLayout& layout = layout_of(format);
  return 16 / std::gcd(16, layout.bytes) * layout.elements;
}
/// Elements of a window: of whole vectors where a trip takes these, else the least. 0 for formats
/// that are not read by windows.
inline int window_of(const Variant& v, BlockFormat format) {
  const int least = least_window(format);
  const bool whole =
      least > 0 && !has_half_windows(layout_of(format)) && v.unroll_k % whole_vectors(format) == 0;
  return whole ? whole_vectors(format) : least;
}
/// Words of a quantised B that one load takes. Blocks that are no whole vectors are read by vectors
/// where a trip takes whole windows.
inline int words_width(const Variant& v, const Types& t) {
  if (nests_k_loop(v) || v.packed_b == Packed::kYes || v.vector_width_b != 4) return 1;
  const int window = least_window(t.b.format);
  return window == 0 || v.unroll_k % window == 0 ? 4 : 1;
}
/// Whether the kernel reads a quantised B by windows.
inline bool reads_windows(const Variant& v, const Types& t) {
  return least_window(t.b.format) > 0 && words_width(v, t) == 4;
}
/// Values in a 32-bit word of a quantised B with separate scales.
inline int values_per_word(const Types& t) { return 32 / t.b.bits; }
/// Values of a quantised B that a kernel unpacks together: those of a word, or a group of a block.
inline int least_values(const Types& t) {
  return has_block_format(t) ? kGroup : values_per_word(t);
}
/// Values of a block of a GGUF file that one load of a matrix kernel takes: two words of pairs.
inline constexpr int kMatrixQuad = 4;
/// Values of a quantised B that one load takes.
inline int load_values(const Variant& v, const Types& t) {
  if (!has_block_format(t)) return values_per_word(t) * words_width(v, t);
  if (reads_windows(v, t)) return window_of(v, t.b.format);
  return v.family == Family::kMatrix ? kMatrixQuad : kGroup;
}

/// Partial sums of a split-K GEMM that lie in memory: one where kernels add atomically.
inline std::int64_t stored_parts(const Variant& v, std::int64_t k) {
  return v.reduction == Reduction::kAtomic ? 1 : k_slices_of(v, k);
}

/// Elements that one load of the stored operand takes. Vectors that do not run along k need reg_m
/// (reg_n) to be a multiple of their width; otherwise the operand is read element by element.
inline int load_width_a(const Variant& v, const Signature& s) {
  if (v.family == Family::kMatrix) return v.vector_width_a;
  const bool along_k = v.packed_a == Packed::kYes || s.trans_a == Transpose::kNo;
  return along_k || v.reg_m % v.vector_width_a == 0 ? v.vector_width_a : 1;
}
inline int load_width_b(const Variant& v, const Signature& s) {
  if (reads_quantized(v, s)) return 1;  // words_width() says how wide its loads are
  if (v.family == Family::kMatrix) return v.vector_width_b;
  const bool along_k = v.packed_b == Packed::kNo && s.trans_b == Transpose::kYes;
  return along_k || v.reg_n % v.vector_width_b == 0 ? v.vector_width_b : 1;
}

/// Components of the vectors of sums and of C. Shared tiles are always read as vectors of four;
/// elsewhere a vector of C is as wide as one of B, unless B's vectors run along k.
inline int vector_width_c(const Variant& v, const Signature& s) {
  if (nests_k_loop(v)) return 4;
  return v.packed_b == Packed::kNo && s.trans_b == Transpose::kYes ? 1 : load_width_b(v, s);
}

/// Steps of a masked iteration at the end of k: the longest vector that runs along k.
inline int tail_k(const Variant& v, const Signature& s) {
  if (v.stage == Stage::kSubgroup) return v.unroll_k;  // lanes share whole groups of packed A
  if (reads_quantized(v, s))
    return reads_windows(v, s.types) ? window_of(v, s.types.b.format) : least_values(s.types);
  const bool a_along_k = v.packed_a == Packed::kYes || s.trans_a == Transpose::kNo;
  const bool b_along_k = v.packed_b == Packed::kNo && s.trans_b == Transpose::kYes;
  return std::max(a_along_k ? load_width_a(v, s) : 1, b_along_k ? load_width_b(v, s) : 1);
}

/// Whether every iteration of the loop over k is whole without masks, since k is a multiple of its
/// depth or is padded to one.
inline bool has_whole_trips(const Variant& v) {
  return v.edge == Edge::kExact || (v.packed_a == Packed::kYes && v.packed_b == Packed::kYes);
}
/// Whether masked iterations of tail_k steps follow the whole ones.
inline bool has_tail(const Variant& v) { return !nests_k_loop(v) && !has_whole_trips(v); }

/// Whether neighbouring invocations of a vector kernel lie along k, since the larger operand is
/// contiguous along k.
inline bool k_fastest(const Variant& v, const Signature& s) {
  const bool few_rows = v.tile_m == v.reg_m;
  return few_rows ? s.trans_b == Transpose::kYes : s.trans_a == Transpose::kNo;
}

/// Whether the device has a matrix unit for the shape and scope of a matrix kernel, among those
/// whose shape keep(MatrixShape) accepts.
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

/// Whether the invocations of a tiled workgroup lie in blocks of subgroup_m x subgroup_n elements
/// of C (templates/tiled.comp). Consecutive invocations share a block: on most
/// devices they are a subgroup or a part of one.
inline bool has_subgroup_tiles(const Variant& v) {
  return v.family == Family::kTiled && v.subgroup_m > 0;
}

/// Whether a tiled workgroup splits into the 8 x 4 blocks of templates/tiled.comp.
inline bool lanes_in_blocks(const Variant& v) {
  return v.tile_n / v.reg_n % 8 == 0 && v.tile_m / v.reg_m % 4 == 0;
}

/// Shared memory for the rows of a workgroup's matrix that are stored to C together. Every device
/// has 16 KiB, and the driver has the rest for operands.
inline constexpr std::int64_t kPieceBytes = 16384;
/// Number of these rows: the largest divisor of tile_m that fits.
inline int piece_rows(const Variant& v, const Types& t) {
  const std::int64_t row_bytes = v.tile_n * bytes_of(sum_type(t));
  int rows = v.tile_m;
  while (rows > 1 && (v.tile_m % rows != 0 || rows * row_bytes > kPieceBytes)) --rows;
  return rows;
}

/// A quantised B must begin at a multiple of so many values.
inline int aligned_values(const Variant& v, const Types& t) {
  return scales_sums(v, t) ? scale_steps(t) : load_values(v, t);
}

/// Elements of a part in a 32-bit word of a matrix kernel's tiles.
inline int elements_per_unit_word(const Types& t) {
  return std::max(1, static_cast<int>(kElementBytes / bytes_of(unit_type(t))));
}

/// Elements in what a vector width counts: those of a 32-bit word where operands are read as words,
/// else 1.
inline int elements_per_word(const Variant& v, const Types& t) {
  if (v.family != Family::kMatrix) return v.dot;
  return std::max(1, static_cast<int>(kElementBytes / bytes_of(t.a)));
}

/// Whether a matrix kernel narrows its float32 sums in the matrix unit and stores them as a float16
/// C.
inline bool narrows_fragments(const Variant& v, const Signature& s) {
  return v.family == Family::kMatrix && v.stage == Stage::kStored && s.types.a == DataType::kF16 &&
         s.types.c == DataType::kF16 && sum_type(s.types) == DataType::kF32 && !any(s.epilogue) &&
         v.split_k == 1 && v.subgroups_k == 1 && v.matrix_n % 8 == 0;
}

/// Whether a matrix kernel stores fragments of sums to C (where alpha is 1, beta 0 and the tile
/// lies inside of C): a subgroup holds whole sums, and they have C's type of 32 bits, or only have
/// to be narrowed. Sums of parts are looked at one by one on their way to C.
inline bool stores_fragments(const Variant& v, const Signature& s) {
  const Signature kernel = gemm_signature(v, s);
  return narrows_fragments(v, s) ||
         (v.subgroups_k == 1 && !recomputes_sums(v, s.types) &&
          kernel.types.c == sum_type(kernel.types) && bytes_of(kernel.types.c) == kElementBytes &&
          !any(kernel.epilogue) && v.reduction == Reduction::kOrdered);
}

/// Words in the vectors of a matrix kernel's tiles in shared memory: 16 bytes, or a fragment's row
/// of matrix_k elements if shorter.
inline int shared_words(const Variant& v, const Types& t) {
  return std::clamp(v.matrix_k / elements_per_unit_word(t), 1, 4);
}

/// Bytes of a matrix kernel's tile of an operand in shared memory, which has `rows` rows of A or
/// columns of B. Rows are padded; in the order of the operand they are the tile_k steps of one that
/// is not stored along k. 0: the operand is read directly.
inline std::int64_t tile_bytes(const Variant& v, const Signature& s, Operand operand) {
  const bool is_a = operand == Operand::kA;
  if (!(is_a ? staged_a(v) : staged_b(v))) return 0;
  const std::int64_t rows = is_a ? v.tile_m : v.tile_n, bytes = unit_bytes(s.types, operand);
  const bool along_k =
      v.stage == Stage::kShared || is_a == ((is_a ? s.trans_a : s.trans_b) == Transpose::kNo);
  return along_k ? bytes * rows * (v.tile_k + v.shared_pad)
                 : bytes * v.tile_k * (rows + v.shared_pad);
}
/// Bytes beside a tile of B whose scales multiply sums: the scales, and where there are addends
/// these and a row of ones.
inline std::int64_t scale_bytes(const Variant& v, const Types& t) {
  if (!scales_sums(v, t)) return 0;
  const std::int64_t scales = kElementBytes * v.tile_n * (v.tile_k / scale_steps(t));
  return has_addends(t) ? 2 * scales + v.matrix_k * bytes_of(unit_type(t)) : scales;
}
/// Bytes of the fragments that the subgroups of a matrix kernel pass through shared memory on their
/// way to C.
inline std::int64_t fragment_bytes(const Variant& v, const Types& t) {
  return std::int64_t{local_size(v) / v.subgroup_size} * v.matrix_m * v.matrix_n *
         bytes_of(sum_type(t));
}
/// The shared memory in which those fragments lie, once the loop over k has ended: the tile of A or
/// of B, which is no longer read, or kOwn where neither is as large. A region of their own would
/// cost workgroups: a multiprocessor of an H200 gives them 48 KiB, and a second workgroup of
/// 128x128x32 f16 that fits makes 4096 x 4096 x 4096 nt 1.7 times as fast (2026-11-27).
enum class FragmentPlace { kOwn, kTileOfA, kTileOfB };
inline FragmentPlace fragment_place(const Variant& v, const Signature& s) {
  if (bytes_of(sum_type(s.types)) != kElementBytes) return FragmentPlace::kOwn;
  const std::int64_t bytes = fragment_bytes(v, s.types);
  return bytes <= tile_bytes(v, s, Operand::kA)   ? FragmentPlace::kTileOfA
         : bytes <= tile_bytes(v, s, Operand::kB) ? FragmentPlace::kTileOfB
                                                  : FragmentPlace::kOwn;
}

/// The rows of a matrix kernel's tile along k that neighbouring invocations store in one access of
/// 128 bytes: so many, of which each lies `step` rows behind the one before.
struct StoreRows {
  int together = 1, step = 1;
};
/// Those of an operand with `rows` rows, of which a load takes `width` words. Permuted rows use all
/// banks of shared memory, as far as its 32 words of 4 bytes are NVIDIA's, AMD's and Intel's.
inline StoreRows store_rows(const Variant& v, const Types& t, int width, int rows) {
  constexpr int kBankWords = 32;
  const int vector = width * elements_per_word(v, t), loads = v.tile_k / vector,
            vectors = kBankWords / width;
  if (v.store_map == StoreMap::kPlain || splits(v, t, Operand::kA) || width != shared_words(v, t) ||
      loads == 0 || vectors % loads != 0)
    return {};
  const StoreRows permuted = {.together = vectors / loads,
                              .step = loads / std::gcd(loads, (v.tile_k + v.shared_pad) / vector)};
  return rows % (permuted.together * permuted.step) == 0 ? permuted : StoreRows();
}
/// Words in a vector of B's tile: of a quantised B the pairs of values that a load becomes.
inline int store_width_b(const Variant& v, const Signature& s) {
  if (!reads_quantized(v, s)) return v.vector_width_b;
  return (has_block_format(s.types) ? kMatrixQuad : values_per_word(s.types)) / 2;
}
inline StoreRows store_rows_a(const Variant& v, const Signature& s) {
  const bool along_k = staged_a(v) && s.trans_a == Transpose::kNo;
  return along_k ? store_rows(v, s.types, v.vector_width_a, v.tile_m) : StoreRows();
}
inline StoreRows store_rows_b(const Variant& v, const Signature& s) {
  const bool along_k = staged_b(v) && s.trans_b == Transpose::kYes;
  return along_k ? store_rows(v, s.types, store_width_b(v, s), v.tile_n) : StoreRows();
}

/// Whether a matrix kernel with one tile in shared memory has a copy of its code for the last tile
/// (templates/matrix.comp has the reason). Subgroups of 8 to 32 are Intel's and
/// NVIDIA's. AMD's compiler (ACO, 64 lanes) moves sums if there is a copy: 119 instead of 68
/// instructions beside 32 matrix operations, NAVI31, Mesa 25.0, 2026-11. Lavapipe, whose units have
/// 8 steps of k, compiles a copy for as long as the loop, and gains nothing.
inline bool peels_last_tile(const Variant& v) { return v.subgroup_size <= 32 && v.matrix_k >= 16; }

/// Whether a packed operand consists of words of several elements (templates/pack_words.comp).
inline bool packs_words(const Variant& v) { return v.dot > 1 || v.family == Family::kMatrix; }

/// Steps of kernel_depth() in a word of a packed operand: 1 for packed dot products, for which
/// kernel_depth() counts words.
inline int steps_per_panel_word(const Variant& v, const Types& t) {
  return v.family == Family::kMatrix ? elements_per_word(v, t) : 1;
}

/// Layout of a packed operand, in the terms of templates/pack.comp and pack_words.comp. group_k and
/// pad_k are in steps of kernel_depth().
struct PackLayout {
  bool packed;
  int panel_rows, group_k, pad_rows, pad_k;
  LoadPath path;                // by which the pack kernel reads
  bool contiguous_along_depth;  // of the stored operand
};
inline PackLayout pack_layout(const Variant& v, const Signature& s, Operand operand) {
  const bool is_a = operand == Operand::kA;
  PackLayout layout = {
      .packed = (is_a ? v.packed_a : v.packed_b) == Packed::kYes,
      .panel_rows = is_a ? v.tile_m : v.tile_n,
      .group_k = is_a ? v.unroll_k : 1,
      .pad_rows = is_a ? v.tile_m : v.tile_n,
      .pad_k = v.unroll_k,
      .path = packs_words(v) || is_float64(s.types) ? LoadPath::kBuffer
              : is_a                                ? v.load_path_a
                                                    : v.load_path_b,
      .contiguous_along_depth = is_a == ((is_a ? s.trans_a : s.trans_b) == Transpose::kNo)};
  if (v.family == Family::kMatrix) {  // a panel is a row of fragments
    layout.panel_rows = is_a ? v.matrix_m : v.matrix_n;
    layout.group_k = v.matrix_k;
    layout.pad_k = v.tile_k;
  }
  return layout;
}

/// Elements (words for packed dot products) of one packed matrix.
inline std::int64_t panel_elements(const Variant& v, const Problem& p, Operand operand) {
  const PackLayout layout = pack_layout(v, signature_of(p), operand);
  return round_up(operand == Operand::kA ? p.m : p.n, layout.pad_rows) *
         round_up(kernel_depth(v, p.k), layout.pad_k);
}
/// Size of one packed matrix as its pack kernel counts: in elements, or in words of several ones.
inline std::int64_t panel_stride(const Variant& v, const Problem& p, Operand operand) {
  return panel_elements(v, p, operand) / steps_per_panel_word(v, p.types);
}
/// The same in 32-bit words.
inline std::int64_t panel_words(const Variant& v, const Problem& p, Operand operand) {
  return panel_stride(v, p, operand) * words_of_element(p.types);
}

}  // namespace rooftile
