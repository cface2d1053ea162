#include "generator/family_defaults.h"

#include <array>

namespace rooftile {
namespace {

// Best first within a family. One workgroup of broadcast is one subgroup: tile_n and subgroup_size
// follow from the device.
constexpr std::array kDefaults = {
    Variant{.family = Family::kNaive, .tile_m = 8, .tile_n = 8},

    Variant{.family = Family::kRegister,
            .tile_m = 16,
            .tile_n = 32,
            .reg_m = 4,
            .reg_n = 4,
            .vector_width_a = 4,
            .vector_width_b = 4,
            .unroll_k = 8,
            .raster = Raster::kColumn},
    // A quantised B: trips of one word of 4-bit values.
    Variant{.family = Family::kRegister,
            .tile_m = 16,
            .tile_n = 32,
            .reg_m = 4,
            .reg_n = 4,
            .vector_width_a = 4,
            .unroll_k = 8,
            .raster = Raster::kColumn},

    // 256 invocations and 16 KiB at most on any device of this decade; small enough for problems of
    // a few hundred.
    Variant{.family = Family::kTiled,
            .tile_m = 64,
            .tile_n = 64,
            .tile_k = 16,
            .reg_m = 4,
            .reg_n = 4,
            .vector_width_a = 4,
            .vector_width_b = 4,
            .stage = Stage::kShared,
            .shared_pad = 4,
            .unroll_k = 8},
    // A quantised B: a word of 4-bit values for each of 256 invocations.
    Variant{.family = Family::kTiled,
            .tile_m = 64,
            .tile_n = 64,
            .tile_k = 32,
            .reg_m = 4,
            .reg_n = 4,
            .vector_width_a = 4,
            .vector_width_b = 4,
            .stage = Stage::kShared,
            .shared_pad = 4,
            .unroll_k = 8},
    // 64 invocations: Vulkan promises 128.
    Variant{.family = Family::kTiled,
            .tile_m = 32,
            .tile_n = 32,
            .tile_k = 16,
            .reg_m = 4,
            .reg_n = 4,
            .vector_width_a = 4,
            .vector_width_b = 4,
            .stage = Stage::kShared,
            .shared_pad = 4,
            .unroll_k = 8},

    // lavapipe 22.3 on 2 cores, 2026-11: 45 GFLOP/s at n = 512 and 0.3 s to the first result; 32 x
    // 16 sums give 43 and take 1.2 s.
    Variant{.family = Family::kBroadcast,
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
            .packed_b = Packed::kYes},
    // Devices without texel buffers of float32.
    Variant{.family = Family::kBroadcast,
            .tile_m = 16,
            .reg_m = 16,
            .reg_n = 8,
            .vector_width_a = 4,
            .vector_width_b = 4,
            .unroll_k = 8,
            .raster = Raster::kColumn,
            .packed_a = Packed::kYes,
            .packed_b = Packed::kYes},

    // One row times a matrix, as in decoding.
    Variant{.family = Family::kVector,
            .tile_m = 1,
            .tile_n = 128,
            .tile_k = 16,
            .reg_m = 1,
            .reg_n = 4,
            .vector_width_a = 4,
            .vector_width_b = 4,
            .unroll_k = 16},
    Variant{.family = Family::kVector,
            .tile_m = 1,
            .tile_n = 128,
            .tile_k = 16,
            .reg_m = 1,
            .reg_n = 4,
            .vector_width_a = 4,
            .unroll_k = 16},

    Variant{.family = Family::kBatchedSmall,
            .tile_m = 16,
            .tile_n = 16,
            .reg_m = 4,
            .reg_n = 4,
            .vector_width_a = 4,
            .vector_width_b = 4,
            .unroll_k = 8,
            .tile_batch = 4},
    Variant{.family = Family::kBatchedSmall,
            .tile_m = 16,
            .tile_n = 16,
            .reg_m = 4,
            .reg_n = 4,
            .vector_width_a = 4,
            .unroll_k = 8,
            .tile_batch = 4},
};

/// Two by two subgroups of two by two units each: 64 x 64 for the usual units of 16 x 16.
Variant matrix_default(const MatrixShape& shape, std::uint32_t lanes) {
  return {.family = Family::kMatrix,
          .tile_m = 4 * shape.m,
          .tile_n = 4 * shape.n,
          .tile_k = 2 * shape.k,
          .subgroup_m = 2 * shape.m,
          .subgroup_n = 2 * shape.n,
          .matrix_m = shape.m,
          .matrix_n = shape.n,
          .matrix_k = shape.k,
          .vector_width_a = 4,
          .vector_width_b = 4,
          .stage = Stage::kShared,
          .shared_pad = 16,
          .unroll_k = shape.k,
          .subgroup_size = static_cast<int>(lanes)};
}

}  // namespace

std::vector<Variant> family_defaults(Family family, const DeviceLimits& limits) {
  std::vector<Variant> defaults;
  for (Variant v : kDefaults) {
    if (v.family != family) continue;
    if (family == Family::kBroadcast) {
      v.subgroup_size = static_cast<int>(limits.subgroup_size);
      v.tile_n = v.subgroup_size * v.reg_n;
    }
    defaults.push_back(v);
  }
  if (family == Family::kMatrix)
    for (const std::vector<MatrixShape>& shapes :
         {limits.matrix_shapes, limits.matrix_granularities})
      for (const MatrixShape& shape : shapes)
        defaults.push_back(matrix_default(shape, limits.subgroup_size));
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
