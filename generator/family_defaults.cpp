#include "generator/family_defaults.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rooftile {
namespace {

template <typename Change>
constexpr Variant with(Variant v, const Change& change) {
  change(v);
  return v;
}

constexpr Variant kRegister = {.family = Family::kRegister,
                               .tile_m = 16,
                               .tile_n = 32,
                               .reg_m = 4,
                               .reg_n = 4,
                               .vector_width_a = 4,
                               .vector_width_b = 4,
                               .unroll_k = 8,
                               .raster = Raster::kColumn};
// 256 invocations and 16 KiB at most on any device of this decade; small enough for problems of a
// few hundred. With unroll_k = tile_k GPUs' compilers keep all addresses in offsets of
// instructions: on Ampere .23 other instructions for a multiply-add, .43 with 8
// (bench/results/gpu-compilers.md).
constexpr Variant kTiled = {.family = Family::kTiled,
                            .tile_m = 64,
                            .tile_n = 64,
                            .tile_k = 16,
                            .reg_m = 4,
                            .reg_n = 4,
                            .vector_width_a = 4,
                            .vector_width_b = 4,
                            .stage = Stage::kShared,
                            .shared_pad = 4,
                            .unroll_k = 16};
// One workgroup is one subgroup; broadcast_for() adapts it to the device. lavapipe 22.3 on 2 cores,
// 2026-11: 45 GFLOP/s at n = 512, first result after 0.3 s; 32 x 16 sums give 43 after 1.2 s.
constexpr Variant kBroadcast = {.family = Family::kBroadcast,
                                .tile_m = 16,
                                .reg_m = 16,
                                .reg_n = 8,
                                .vector_width_a = 4,
                                .vector_width_b = 4,
                                .load_path_a = LoadPath::kTexel,
                                .load_path_b = LoadPath::kTexel,
                                .unroll_k = 8,
                                .raster = Raster::kColumn,
                                .packed_a = Packed::kYes,
                                .packed_b = Packed::kYes};
// One row times a matrix, as in decoding.
constexpr Variant kVector = {.family = Family::kVector,
                             .tile_m = 1,
                             .tile_n = 128,
                             .tile_k = 16,
                             .reg_m = 1,
                             .reg_n = 4,
                             .vector_width_a = 4,
                             .vector_width_b = 4,
                             .unroll_k = 16};
constexpr Variant kBatchedSmall = {.family = Family::kBatchedSmall,
                                   .tile_m = 16,
                                   .tile_n = 16,
                                   .reg_m = 4,
                                   .reg_n = 4,
                                   .vector_width_a = 4,
                                   .vector_width_b = 4,
                                   .unroll_k = 8,
                                   .tile_batch = 4};
/// A quantised B is read by words of 4-bit values, not by vectors.
constexpr auto kScalarB = [](Variant& v) { v.vector_width_b = 1; };

// Best first within a family.
constexpr std::array kDefaults = {
    Variant{.family = Family::kNaive, .tile_m = 8, .tile_n = 8},
    kRegister,
    with(kRegister, kScalarB),
    kTiled,
    // For tiles of a smaller depth.
    with(kTiled, [](Variant& v) { v.unroll_k = 8; }),
    // For a quantised B: a word of 4-bit values for each of 256 invocations.
    with(kTiled, [](Variant& v) { v.tile_k = v.unroll_k = 32; }),
    // 64 invocations: Vulkan promises 128.
    with(kTiled,
         [](Variant& v) {
           v.tile_m = v.tile_n = 32;
           v.unroll_k = 8;
         }),
    kBroadcast,
    // For devices without texel buffers of float32.
    with(kBroadcast, [](Variant& v) { v.load_path_a = v.load_path_b = LoadPath::kBuffer; }),
    kVector,
    with(kVector, kScalarB),
    // A matrix times one column.
    with(kVector,
         [](Variant& v) {
           std::swap(v.tile_m, v.tile_n);
           std::swap(v.reg_m, v.reg_n);
         }),
    kBatchedSmall,
    with(kBatchedSmall, kScalarB),
};

/// Subgroups that multiply on units of a shape. Units of 8 rows are Intel's, which have as many
/// lanes as columns: 8 on Xe-HPG and 16 on Xe2, where the usual subgroup has 32.
std::uint32_t matrix_lanes(const MatrixShape& shape, const DeviceLimits& limits) {
  if (shape.m != 8) return limits.subgroup_size;
  return std::clamp(static_cast<std::uint32_t>(shape.n), limits.min_subgroup_size,
                    limits.max_subgroup_size);
}

/// A workgroup of two by two subgroups, each of two by two matrix operations: 64 x 64 for the usual
/// shape of 16 x 16. On Intel, this is the largest block of a subgroup that does not spill: 16 x 32
/// on Xe2, 16 x 16 on Xe-HPG, with one matrix operation along k
/// (bench/results/gpu-compilers.md), and 8 x 16 on Xe-LP, which adds no floats atomically and whose
/// driver emulates the unit: 16 x 16 spills up to 20 registers there. Rows in shared memory are
/// padded by 16 bytes, so that those of a fragment begin in different banks.
Variant matrix_default(const MatrixShape& shape, const DeviceLimits& limits) {
  const bool xe_lp = limits.min_subgroup_size == 8 && !limits.float32_atomic_add;
  return {.family = Family::kMatrix,
          .tile_m = 4 * shape.m,
          .tile_n = 4 * shape.n,
          .tile_k = shape.m == 8 ? std::max(shape.k, 16) : 2 * shape.k,
          .subgroup_m = (xe_lp ? 1 : 2) * shape.m,
          .subgroup_n = 2 * shape.n,
          .matrix_m = shape.m,
          .matrix_n = shape.n,
          .matrix_k = shape.k,
          .vector_width_a = 4,
          .vector_width_b = 4,
          .stage = Stage::kShared,
          .shared_pad = static_cast<int>(16 / bytes_of(shape.operand)),
          .unroll_k = shape.k,
          .subgroup_size = static_cast<int>(matrix_lanes(shape, limits))};
}

/// The same for float32 operands, of which a subgroup holds three parts: half of the block, and
/// `steps` along k.
Variant parts_default(Variant v, int steps) {
  v.stage = Stage::kStored;
  v.tile_k = v.unroll_k = steps;
  v.subgroup_n /= 2;
  v.tile_n /= 2;
  return v;
}

/// Subgroups of 8 invocations and fewer are software devices', whose memory is the processor's
/// cache. Each invocation of a GPU holds its sums in registers: 255 on AMD and NVIDIA, where 8 x 8
/// sums take 132 to 136. An invocation of Intel's smallest subgroups has 128, where 8 x 4 sums take
/// 95 on Xe-HPG and 94 on Xe2. More sums or a larger unroll_k spill (`rooftile inspect`,
/// Mesa 25.0).
Variant broadcast_for(const DeviceLimits& limits, Variant v) {
  constexpr std::uint32_t kMostInSoftware = 8, kMostOfFewRegisters = 16;
  const bool few_registers =
      limits.subgroup_size_control && limits.min_subgroup_size <= kMostOfFewRegisters;
  std::uint32_t lanes = limits.subgroup_size;
  if (limits.subgroup_size > kMostInSoftware) {
    if (few_registers) lanes = limits.min_subgroup_size;
    v.tile_m = v.reg_m = 8;
    v.reg_n = few_registers ? 4 : 8;
    v.unroll_k = 4;
  }
  v.subgroup_size = static_cast<int>(lanes);
  v.tile_n = v.subgroup_size * v.reg_n;
  return v;
}

}  // namespace

std::vector<Variant> family_defaults(Family family, const DeviceLimits& limits) {
  std::vector<Variant> defaults;
  for (Variant v : kDefaults) {
    if (v.family != family) continue;
    defaults.push_back(family == Family::kBroadcast ? broadcast_for(limits, v) : v);
  }
  if (family == Family::kMatrix)
    for (const std::vector<MatrixShape>& shapes :
         {limits.matrix_shapes, limits.matrix_granularities})
      for (const MatrixShape& shape : shapes) {
        const Variant usual = matrix_default(shape, limits);
        defaults.push_back(usual);
        if (shape.operand != DataType::kBf16) continue;
        defaults.push_back(parts_default(usual, shape.k));
        // Beside a quantised B, whose scales are those of 16 or 32 steps.
        constexpr int kScaleSteps = 32;
        if (shape.k < kScaleSteps) defaults.push_back(parts_default(usual, kScaleSteps));
      }
  return defaults;
}

CompletedVariant complete(Family family, const ParameterSettings& settings,
                          const DeviceLimits& limits, const std::vector<Variant>& space,
                          const Legality& illegal) {
  const auto completed = [&](const Variant& start) -> CompletedVariant {
    const Variant v = with_settings(start, settings);
    return {v, illegal(v)};
  };
  CompletedVariant last = completed({.family = family});
  for (const Variant& v : family_defaults(family, limits))
    if (!(last = completed(v)).reason) return last;
  for (const Variant& v : space) {
    if (v.family != family) continue;
    if (const CompletedVariant other = completed(v); !other.reason) return other;
  }
  return last;
}

}  // namespace rooftile
