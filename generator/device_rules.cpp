#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

#include "generator/emit.h"
#include "generator/layout.h"
#include "generator/packed_format.h"
#include "generator/rules.h"

namespace rooftile {
namespace {

/// Rules are checked in order; a rule may rely on all rules above it.
struct DeviceRule {
  std::string_view reason;
  bool (*holds)(const Variant&, const DeviceLimits&);
  std::string (*figures)(const Variant&, const DeviceLimits&) =
      nullptr;  // text of the required and the allowed value
};

using Limits = DeviceLimits;

bool is(const Variant& v, Family family) { return v.family == family; }
bool divides(int step, int x) { return x % step == 0; }
bool is_width(int w) { return w == 1 || w == 2 || w == 4; }
bool any_texel(const Variant& v, int width) {
  return (v.load_path_a == LoadPath::kTexel && v.vector_width_a == width) ||
         (v.load_path_b == LoadPath::kTexel && v.vector_width_b == width);
}
/// Whether some transpose makes the kernel read element by element (load_width_a, load_width_b).
bool may_load_elements(const Variant& v) {
  return v.reg_m % v.vector_width_a != 0 || v.reg_n % v.vector_width_b != 0;
}
bool in_sizes(int x) { return x >= 1 && x <= kLargestTile; }
bool has_from_lanes(int lanes) {  // templates/fragment/multiply.glsl
  return lanes == 4 || lanes == 8 || lanes == 16 || lanes == 32 || lanes == 64;
}

/// The most bytes, those of float64 kernels with an epilogue; every device of Vulkan has 128.
constexpr std::size_t kPushConstants =
    block_bytes<GemmPushConstants>(kFloat64Types) + block_bytes<EpiloguePushConstants>(kFloat64Types);

/// The fewest bytes of shared memory, over all types and transposes.
std::int64_t least_shared_bytes(const Variant& v) {
  // How much a tiled kernel of stage stored needs depends on the steps that share a scale: these
  // types have the most of them, and nothing but scales.
  static const Signature kInt8{.types = parse_types("f32xq8_0_int8"), .trans_b = Transpose::kYes};
  if (v.family == Family::kTiled && v.stage == Stage::kStored) return shared_bytes(v, kInt8);
  if (v.family != Family::kMatrix) return shared_bytes(v, {});
  const Types bytes = {.a = DataType::kI8, .c = DataType::kI32};
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Transpose a : {Transpose::kNo, Transpose::kYes})
    for (const Transpose b : {Transpose::kNo, Transpose::kYes})
      least = std::min(least, shared_bytes(v, {.types = bytes, .trans_a = a, .trans_b = b}));
  return least;
}

// A broadcast kernel of 32 x 16 at unroll 16 holds 1280 and ran at 0.05 GFLOP/s on lavapipe 22.3
// where 896 gave 42; GPUs have at most 255 registers, and register kernels fetch fragments in
// pieces, so sums alone may take 128 of them.
constexpr int kMostLiveBroadcast = 1024;
// Words of a quantised B hold several values, and windows of blocks are held one column at a time
// (a rule of the signature for others).
constexpr int kMostLiveVector = 650, kMostLiveInLoop = 1100;

/// The fewest values that an invocation holds, over all types.
int least_live_values(const Variant& v) {
  return live_values(v, may_loop_over_columns(v) ? 1 : v.reg_n);
}

int most_live_values(const Variant& v) {
  return is(v, Family::kBroadcast)  ? kMostLiveBroadcast
         : may_loop_over_columns(v) ? kMostLiveInLoop
         : is(v, Family::kVector)   ? kMostLiveVector
                                    : kMostLiveRegister;
}

// Each element of a fragment takes a register of some lane: 128 sums leave room for fragments of A
// and B in NVIDIA's 255 registers, and kernels with more spilled there.
constexpr int kMostSumsMatrix = 128;

bool offers_shape(const Variant& v, const Limits& d) {
  return offers_matrix(v, d, [](const MatrixShape&) { return true; });
}

constexpr std::array kDeviceRules = {
    DeviceRule{"tile_m, tile_n, tile_k, reg_m, reg_n and unroll_k must lie between 1 and 1024",
               [](const Variant& v, const Limits&) {
                 return in_sizes(v.tile_m) && in_sizes(v.tile_n) && in_sizes(v.tile_k) &&
                        in_sizes(v.reg_m) && in_sizes(v.reg_n) && in_sizes(v.unroll_k);
               }},
    DeviceRule{"vector_width_a and vector_width_b must be 1, 2 or 4",
               [](const Variant& v, const Limits&) {
                 return is_width(v.vector_width_a) && is_width(v.vector_width_b);
               }},
    DeviceRule{"the device has no matrix units",
               [](const Variant& v, const Limits& d) {
                 return !is(v, Family::kMatrix) || !d.matrix_shapes.empty();
               }},
    DeviceRule{"subgroup_size must be 0 or a power of two",
               [](const Variant& v, const Limits&) {
                 return v.subgroup_size == 0 ||
                        std::has_single_bit(static_cast<unsigned>(v.subgroup_size));
               }},
    DeviceRule{"scope workgroup is for matrix",
               [](const Variant& v, const Limits&) {
                 return v.scope == Scope::kSubgroup || is(v, Family::kMatrix);
               }},
    DeviceRule{"the device has no matrix units of workgroup scope with tensor addressing",
               [](const Variant& v, const Limits& d) {
                 return v.scope == Scope::kSubgroup || !d.workgroup_matrices.empty();
               }},
    DeviceRule{
        "only matrix has matrix_m, matrix_n and matrix_k, between 1 and 1024; the others need 0",
        [](const Variant& v, const Limits&) {
          const std::array sizes = {v.matrix_m, v.matrix_n, v.matrix_k};
          return std::ranges::all_of(
              sizes, [&](int size) { return is(v, Family::kMatrix) ? in_sizes(size) : size == 0; });
        }},
    DeviceRule{
        "matrix needs subgroup_m and subgroup_n between 1 and 1024, tiled both or neither; the "
        "others need 0",
        [](const Variant& v, const Limits&) {
          const bool none = v.subgroup_m == 0 && v.subgroup_n == 0,
                     both = in_sizes(v.subgroup_m) && in_sizes(v.subgroup_n);
          return is(v, Family::kMatrix) ? both : is(v, Family::kTiled) ? none || both : none;
        }},
    DeviceRule{"matrix needs a subgroup_size",
               [](const Variant& v, const Limits&) {
                 return !is(v, Family::kMatrix) || v.subgroup_size > 0;
               }},
    DeviceRule{
        "matrix has tiles of whole subgroups' blocks of whole fragments: matrix_m, subgroup_m "
        "and tile_m must divide each other, and so for n, and matrix_k, unroll_k and tile_k",
        [](const Variant& v, const Limits&) {
          if (has_workgroup_scope(v))
            return divides(v.subgroup_m, v.tile_m) && divides(v.subgroup_n, v.tile_n) &&
                   divides(v.matrix_k, v.unroll_k) && divides(v.unroll_k, v.tile_k);
          return !is(v, Family::kMatrix) ||
                 (divides(v.matrix_m, v.subgroup_m) && divides(v.subgroup_m, v.tile_m) &&
                  divides(v.matrix_n, v.subgroup_n) && divides(v.subgroup_n, v.tile_n) &&
                  divides(v.matrix_k, v.unroll_k) && divides(v.unroll_k, v.tile_k));
        }},
    DeviceRule{
        "scope workgroup has one matrix a workgroup: matrix_m, matrix_n and matrix_k must be "
        "tile_m, tile_n and unroll_k, in multiples of 16 so that tiles begin at whole "
        "vectors of 16 bytes",
        [](const Variant& v, const Limits&) {
          return !has_workgroup_scope(v) ||
                 (v.matrix_m == v.tile_m && v.matrix_n == v.tile_n && v.matrix_k == v.unroll_k &&
                  divides(16, v.matrix_m) && divides(16, v.matrix_n) && divides(16, v.matrix_k));
        }},
    DeviceRule{"scope workgroup loads tensors itself: both load paths direct, vector widths 4, "
               "nothing packed",
               [](const Variant& v, const Limits&) {
                 return !has_workgroup_scope(v) ||
                        (v.load_path_a == LoadPath::kDirect && v.load_path_b == LoadPath::kDirect &&
                         v.vector_width_a == 4 && v.vector_width_b == 4 && !packs(v));
               }},
    DeviceRule{"subgroups_k must be 1; matrix with scope subgroup may have 2 or 4, if "
               "unroll_k * subgroups_k divides tile_k",
               [](const Variant& v, const Limits&) {
                 return v.subgroups_k == 1 ||
                        (is(v, Family::kMatrix) && !has_workgroup_scope(v) &&
                         (v.subgroups_k == 2 || v.subgroups_k == 4) &&
                         divides(v.unroll_k * v.subgroups_k, v.tile_k));
               }},
    DeviceRule{"scope workgroup leaves to the driver what a subgroup holds: subgroup_m must not "
               "exceed subgroup_n, so that a kernel has one name",
               [](const Variant& v, const Limits&) {
                 return !has_workgroup_scope(v) || v.subgroup_m <= v.subgroup_n;
               }},
    DeviceRule{"the device's matrix units do not have the shape matrix_m x matrix_n x matrix_k",
               [](const Variant& v, const Limits& d) {
                 return !is(v, Family::kMatrix) || offers_shape(v, d);
               },
               [](const Variant& v, const Limits&) {
                 return fmt::format("{} x {} x {}{}", v.matrix_m, v.matrix_n, v.matrix_k,
                                    has_workgroup_scope(v)
                                        ? fmt::format(" for {} invocations", local_size(v))
                                        : "");
               }},
    DeviceRule{"matrix stores vectors of four: matrix_n must be a multiple of 4",
               [](const Variant& v, const Limits&) {
                 return !is(v, Family::kMatrix) || v.matrix_n % 4 == 0;
               }},
    DeviceRule{"matrix has no invocations' blocks, texels or spirv-opt, which does not know its "
               "types: reg_m and reg_n 1, no load_path texel, optimization zero",
               [](const Variant& v, const Limits&) {
                 return !is(v, Family::kMatrix) ||
                        (v.reg_m == 1 && v.reg_n == 1 && v.load_path_a != LoadPath::kTexel &&
                         v.load_path_b != LoadPath::kTexel &&
                         v.optimization == Optimization::kZero);
               }},
    DeviceRule{"load_path direct is for matrix, whose packed operands have it",
               [](const Variant& v, const Limits&) {
                 const bool direct_a = v.load_path_a == LoadPath::kDirect,
                            direct_b = v.load_path_b == LoadPath::kDirect;
                 if (!is(v, Family::kMatrix)) return !direct_a && !direct_b;
                 return (v.packed_a == Packed::kNo || direct_a) &&
                        (v.packed_b == Packed::kNo || direct_b);
               }},
    DeviceRule{
        "load_path direct reads whole tiles: edge exact, a packed operand, or scope workgroup",
        [](const Variant& v, const Limits&) {
          return has_workgroup_scope(v) || v.edge == Edge::kExact ||
                 ((v.load_path_a != LoadPath::kDirect || v.packed_a == Packed::kYes) &&
                  (v.load_path_b != LoadPath::kDirect || v.packed_b == Packed::kYes));
        }},
    DeviceRule{"reg_m must divide tile_m",
               [](const Variant& v, const Limits&) { return divides(v.reg_m, v.tile_m); }},
    DeviceRule{"reg_n must divide tile_n",
               [](const Variant& v, const Limits&) { return divides(v.reg_n, v.tile_n); }},
    DeviceRule{"stage must be none for naive and register, shared or stored for tiled, none or "
               "subgroup for broadcast, shared or stored for vector with several lanes along k and "
               "for matrix unless both operands are direct",
               [](const Variant& v, const Limits&) {
                 if (is(v, Family::kTiled)) return uses_shared_memory(v);
                 if (is(v, Family::kMatrix)) {
                   const bool none =
                       v.load_path_a == LoadPath::kDirect && v.load_path_b == LoadPath::kDirect;
                   return none ? v.stage == Stage::kNone : uses_shared_memory(v);
                 }
                 if (is(v, Family::kVector))
                   return v.tile_k == v.unroll_k ? v.stage == Stage::kNone : uses_shared_memory(v);
                 return v.stage == Stage::kNone ||
                        (is(v, Family::kBroadcast) && v.stage == Stage::kSubgroup);
               }},
    DeviceRule{
        "only tiled and matrix have stages and shared_pad, only they and vector have tile_k; the "
        "others need 1, 0 and 1",
        [](const Variant& v, const Limits&) {
          if (is(v, Family::kTiled)) return true;
          if (is(v, Family::kMatrix))
            return uses_shared_memory(v) || (v.stages == 1 && v.shared_pad == 0);
          return v.stages == 1 && v.shared_pad == 0 && (v.tile_k == 1 || is(v, Family::kVector));
        }},
    DeviceRule{"vector owns whole rows or whole columns of its tile: reg_m must be tile_m or reg_n "
               "tile_n",
               [](const Variant& v, const Limits&) {
                 return !is(v, Family::kVector) || v.tile_m == v.reg_m || v.tile_n == v.reg_n;
               }},
    DeviceRule{"stage stored gives all invocations of a vector kernel the same rows of A: reg_m "
               "must be tile_m",
               [](const Variant& v, const Limits&) {
                 return !shares_a(v) || v.reg_m == v.tile_m;
               }},
    DeviceRule{"vector needs a power of two of lanes along k: tile_k / unroll_k",
               [](const Variant& v, const Limits&) {
                 if (!is(v, Family::kVector)) return true;
                 return divides(v.unroll_k, v.tile_k) &&
                        std::has_single_bit(static_cast<unsigned>(lanes_k(v)));
               }},
    DeviceRule{"naive computes one element an invocation (reg_m, reg_n and unroll_k 1) with scalar "
               "loads from buffers",
               [](const Variant& v, const Limits&) {
                 return !is(v, Family::kNaive) ||
                        (v.reg_m == 1 && v.reg_n == 1 && v.unroll_k == 1 && v.vector_width_a == 1 &&
                         v.vector_width_b == 1 && v.load_path_a == LoadPath::kBuffer &&
                         v.load_path_b == LoadPath::kBuffer);
               }},
    DeviceRule{"split_k must lie between 1 and 256, and be 1 for naive and batched_small",
               [](const Variant& v, const Limits&) {
                 const bool whole = is(v, Family::kNaive) || is(v, Family::kBatchedSmall);
                 return v.split_k >= 1 && v.split_k <= (whole ? 1 : kMostSlices);
               }},
    DeviceRule{"reduction atomic is for split-K (split_k above 1)",
               [](const Variant& v, const Limits&) {
                 return v.reduction == Reduction::kOrdered || v.split_k > 1;
               }},
    DeviceRule{"only batched_small has tile_batch, from 2 to 64; the others need 1",
               [](const Variant& v, const Limits&) {
                 return is(v, Family::kBatchedSmall) ? v.tile_batch >= 2 && v.tile_batch <= 64
                                                     : v.tile_batch == 1;
               }},
    DeviceRule{"dot must be 1, or 4 for register, tiled, broadcast, vector and batched_small",
               [](const Variant& v, const Limits&) {
                 return v.dot == 1 ||
                        (v.dot == 4 && !is(v, Family::kNaive) && !is(v, Family::kMatrix));
               }},
    DeviceRule{
        "the device has no packed dot products of 8-bit integers",
        [](const Variant& v, const Limits& d) { return v.dot == 1 || d.integer_dot_product; }},
    DeviceRule{"naive and vector check the edges: edge must be masked",
               [](const Variant& v, const Limits&) {
                 return !(is(v, Family::kNaive) || is(v, Family::kVector)) ||
                        v.edge == Edge::kMasked;
               }},
    DeviceRule{"prefetch ahead is for tiled and matrix with one tile in shared memory, as with two "
               "stages tiles always are fetched ahead, and for vector with stage stored and reg_n "
               "below 8",
               [](const Variant& v, const Limits&) {
                 return v.prefetch == Prefetch::kNone ||
                        (nests_k_loop(v) && uses_shared_memory(v) && v.stages == 1) ||
                        (shares_a(v) && !may_loop_over_columns(v));
               }},
    DeviceRule{"prefetch peeled is for matrix",
               [](const Variant& v, const Limits&) {
                 return v.prefetch != Prefetch::kPeeled || is(v, Family::kMatrix);
               }},
    DeviceRule{"store_map permuted is for matrix with tiles in shared memory",
               [](const Variant& v, const Limits&) {
                 return v.store_map == StoreMap::kPlain ||
                        (is(v, Family::kMatrix) && uses_shared_memory(v));
               }},
    DeviceRule{"only register, broadcast and matrix read packed operands",
               [](const Variant& v, const Limits&) {
                 return !packs(v) || is(v, Family::kRegister) || is(v, Family::kBroadcast) ||
                        is(v, Family::kMatrix);
               }},
    DeviceRule{
        "vector_width_a must divide reg_m and unroll_k (tile_k for tiled); for vector unroll_k "
        "alone",
        [](const Variant& v, const Limits&) {
          if (is(v, Family::kMatrix)) return true;  // words, which a rule of the signature checks
          if (is(v, Family::kVector)) return divides(v.vector_width_a, v.unroll_k);
          return divides(v.vector_width_a, v.reg_m) && divides(v.vector_width_a, k_step(v));
        }},
    DeviceRule{
        "vector_width_b must divide reg_n and unroll_k (tile_k for tiled); for vector unroll_k "
        "alone",
        [](const Variant& v, const Limits&) {
          if (is(v, Family::kMatrix)) return true;
          if (is(v, Family::kVector)) return divides(v.vector_width_b, v.unroll_k);
          return divides(v.vector_width_b, v.reg_n) && divides(v.vector_width_b, k_step(v));
        }},
    DeviceRule{"a packed operand is read in vectors of 4",
               [](const Variant& v, const Limits&) {
                 if (is(v, Family::kMatrix)) return true;
                 return (v.packed_a == Packed::kNo || v.vector_width_a == 4) &&
                        (v.packed_b == Packed::kNo || v.vector_width_b == 4);
               }},
    DeviceRule{"texels hold 1 or 4 elements: load_path texel needs vector width 1 or 4",
               [](const Variant& v, const Limits&) { return !any_texel(v, 2); }},
    DeviceRule{"the device has no R32 texel buffers",
               [](const Variant& v, const Limits& d) {
                 return d.texel_buffer_r32 ||
                        !(any_texel(v, 1) || (any_texel(v, 4) && may_load_elements(v)));
               }},
    DeviceRule{"the device has no RGBA32 texel buffers",
               [](const Variant& v, const Limits& d) {
                 return d.texel_buffer_rgba32 || !any_texel(v, 4);
               }},
    DeviceRule{"tiled needs reg_m and reg_n in multiples of 4",
               [](const Variant& v, const Limits&) {
                 return !is(v, Family::kTiled) || (v.reg_m % 4 == 0 && v.reg_n % 4 == 0);
               }},
    DeviceRule{
        "a tiled subgroup's block must be whole blocks of its invocations and divide the tile: "
        "reg_m, subgroup_m and tile_m must divide each other, and so for n",
        [](const Variant& v, const Limits&) {
          return !is(v, Family::kTiled) || v.subgroup_m == 0 ||
                 (divides(v.reg_m, v.subgroup_m) && divides(v.subgroup_m, v.tile_m) &&
                  divides(v.reg_n, v.subgroup_n) && divides(v.subgroup_n, v.tile_n));
        }},
    DeviceRule{"shared_pad must be a multiple of 4 below 64",
               [](const Variant& v, const Limits&) {
                 return v.shared_pad % 4 == 0 && v.shared_pad >= 0 && v.shared_pad < 64;
               }},
    DeviceRule{"stage stored of tiled has one tile in shared memory: stages must be 1",
               [](const Variant& v, const Limits&) {
                 return !is(v, Family::kTiled) || v.stage != Stage::kStored || v.stages == 1;
               }},
    DeviceRule{"stages must be 1 or 2",
               [](const Variant& v, const Limits&) { return v.stages == 1 || v.stages == 2; }},
    DeviceRule{
        "unroll_k must divide tile_k",
        [](const Variant& v,
           const Limits&) { return !is(v, Family::kTiled) || divides(v.unroll_k, v.tile_k); }},
    DeviceRule{"the invocations of a tiled workgroup must share the loads of its tiles evenly",
               [](const Variant& v, const Limits&) {
                 return !is(v, Family::kTiled) ||
                        (divides(local_size(v) * v.vector_width_a, v.tile_m * v.tile_k) &&
                         divides(local_size(v) * v.vector_width_b, v.tile_n * v.tile_k));
               }},
    DeviceRule{"broadcast runs one subgroup a workgroup: tile_m == reg_m and tile_n == "
               "subgroup_size * reg_n",
               [](const Variant& v, const Limits&) {
                 return !is(v, Family::kBroadcast) || (v.tile_m == v.reg_m && v.subgroup_size > 0 &&
                                                       v.tile_n == v.subgroup_size * v.reg_n);
               }},
    DeviceRule{"a workgroup must be whole subgroups of subgroup_size",
               [](const Variant& v, const Limits&) {
                 return v.subgroup_size == 0 ||
                        (v.subgroup_size > 0 && local_size(v) % v.subgroup_size == 0);
               }},
    DeviceRule{"the device does not run subgroups of subgroup_size",
               [](const Variant& v, const Limits& d) {
                 const auto size = static_cast<std::uint32_t>(v.subgroup_size);
                 return size == 0 || size == d.subgroup_size ||
                        (d.subgroup_size_control && size >= d.min_subgroup_size &&
                         size <= d.max_subgroup_size);
               },
               [](const Variant& v, const Limits& d) {
                 return fmt::format("{}, the device's is {}", v.subgroup_size, d.subgroup_size);
               }},
    DeviceRule{"the device does not run as many subgroups of a required size in a workgroup",
               [](const Variant& v, const Limits& d) {
                 return v.subgroup_size == 0 || d.max_workgroup_subgroups == 0 ||
                        static_cast<std::uint32_t>(local_size(v) / v.subgroup_size) <=
                            d.max_workgroup_subgroups;
               },
               [](const Variant& v, const Limits& d) {
                 return fmt::format("{} of {}", local_size(v) / v.subgroup_size,
                                    d.max_workgroup_subgroups);
               }},
    DeviceRule{
        "stage subgroup reads packed A",
        [](const Variant& v,
           const Limits&) { return v.stage != Stage::kSubgroup || v.packed_a == Packed::kYes; }},
    DeviceRule{"stage subgroup needs 4, 8, 16, 32 or 64 lanes that share reg_m * unroll_k / 4 "
               "vectors evenly",
               [](const Variant& v, const Limits&) {
                 return v.stage != Stage::kSubgroup ||
                        (has_from_lanes(v.subgroup_size) &&
                         divides(4 * v.subgroup_size, v.reg_m * v.unroll_k));
               }},
    DeviceRule{"the device has no subgroup broadcast in compute shaders",
               [](const Variant& v, const Limits& d) {
                 return v.stage != Stage::kSubgroup || d.subgroup_broadcast;
               }},
    DeviceRule{"the workgroup has more invocations than the device allows",
               [](const Variant& v, const Limits& d) {
                 const auto size = static_cast<std::uint32_t>(local_size(v));
                 const auto products = static_cast<std::uint32_t>(v.tile_batch);
                 return size <= d.max_workgroup_invocations &&
                        size / products <= d.max_workgroup_size[0] &&
                        products <= d.max_workgroup_size[1];
               },
               [](const Variant& v, const Limits& d) {
                 return fmt::format("{} of {}", local_size(v),
                                    std::min(d.max_workgroup_invocations, d.max_workgroup_size[0]));
               }},
    DeviceRule{"tiles exceed the device's shared memory",
               [](const Variant& v, const Limits& d) {
                 return least_shared_bytes(v) <= shared_bytes_left(v, d);
               },
               [](const Variant& v, const Limits& d) {
                 return fmt::format("{} of {} bytes", least_shared_bytes(v),
                                    shared_bytes_left(v, d));
               }},
    DeviceRule{
        "a subgroup would hold too many sums: subgroup_m * subgroup_n must not exceed 128 an "
        "invocation",
        [](const Variant& v, const Limits&) {
          return !is(v, Family::kMatrix) ||
                 v.subgroup_m * v.subgroup_n <= kMostSumsMatrix * v.subgroup_size;
        }},
    DeviceRule{
        "an invocation would hold too many values: reg_m * reg_n + unroll_k * (reg_m + "
        "reg_n) must not exceed 1024 for broadcast, 650 for vector, 320 for the others (tiled with "
        "unroll_k 1, and with stage stored 2 * reg_m * reg_n); reg_m * reg_n + unroll_k * (reg_m + "
        "1) must not exceed 1100 for vector where reg_n is 8 or more",
        [](const Variant& v, const Limits&) { return least_live_values(v) <= most_live_values(v); },
        [](const Variant& v, const Limits&) { return fmt::format("{}", least_live_values(v)); }},
    DeviceRule{"push constants exceed the device's limit",
               [](const Variant&, const Limits& d) {
                 return kPushConstants <=
                        d.max_push_constants_bytes;
               },
               [](const Variant&, const Limits& d) {
                 return fmt::format("{} of {} bytes",
                                    kPushConstants,
                                    d.max_push_constants_bytes);
               }},
};

}  // namespace

std::int64_t shared_bytes_left(const Variant& v, const DeviceLimits& limits) {
  const std::int64_t all = limits.shared_memory_bytes;
  return has_workgroup_scope(v) ? all - limits.workgroup_matrix_shared_bytes : all;
}

std::int64_t shared_bytes(const Variant& v, const Signature& s) {
  if (has_workgroup_scope(v))
    return std::int64_t{piece_rows(v, s.types)} * v.tile_n * bytes_of(sum_type(s.types));
  if (v.family == Family::kMatrix)
    return v.stages * (tile_bytes(v, s, Operand::kA) + tile_bytes(v, s, Operand::kB) +
                       scale_bytes(v, s.types)) +
           (fragment_place(v, s) == FragmentPlace::kOwn ? fragment_bytes(v, s.types) : 0);
  if (v.family == Family::kVector) {
    const std::int64_t sums = lanes_k(v) == 1 ? 0 : std::int64_t{local_size(v)} * v.reg_n,
                       lanes = std::int64_t{v.reg_m} * lanes_k(v);
    // Beside vectors of 16 integers lie a scale each rounded_steps(), and the largest of each four.
    const bool int8 = multiplies_int8(v, s.types);
    const std::int64_t of_vectors = vectors_of_lane(v, s.types) * (int8 ? 4 : v.vector_width_a),
                       besides =
                           int8 ? v.unroll_k / rounded_steps(v, s.types) + v.unroll_k / 4 : 0,
                       of_lane = shares_a(v) ? of_vectors + besides : 0;
    return (sums + lanes * of_lane) * element_bytes(s.types);
  }
  if (v.family != Family::kTiled) return 0;
  const std::int64_t row = std::int64_t{v.tile_m} + v.tile_n + 2 * std::int64_t{v.shared_pad};
  // Words of four integers, scales of A and B, addends of B, and the largest of each four of A.
  if (multiplies_int8(v, s.types)) {
    const std::int64_t of_b = std::int64_t{v.tile_n} + v.shared_pad;
    return kElementBytes *
           ((row + v.tile_m) * v.tile_k / 4 + (row + (sums_int8(s.types) ? of_b : 0)) *
                                                  (v.tile_k / rounded_steps(v, s.types)));
  }
  return row * v.tile_k * v.stages * element_bytes(s.types);
}

std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits) {
  for (const DeviceRule& rule : kDeviceRules) {
    if (rule.holds(v, limits)) continue;
    if (rule.figures == nullptr) return std::string(rule.reason);
    return fmt::format("{} ({})", rule.reason, rule.figures(v, limits));
  }
  return std::nullopt;
}

}  // namespace rooftile
