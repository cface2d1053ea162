// Every generation of GPUs gets kernels of its own for each kind of problem and each type, without
// anything that was measured.
#include "generator/priors/default_kernel.h"

#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "generator/space.h"
#include "generator/unit_operands.h"
#include "tests/generator/priors/chip_profiles.h"
#include "tests/generator/test_limits.h"

namespace rooftile {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTypes[] = {
    "f32",        "f16",       "bf16",     "i8_i32",       "u8_i32",   "f16xq4b32_f16",
    "f16xq4_0",   "f16xq5_0",  "f16xq8_0", "f16xq4_k",     "f16xq5_k", "f16xq6_k",
    "f16xmxfp4",  "f16xq4_1",  "f16xq5_1", "f16xq2_k",     "f16xq3_k", "f16xiq4_nl",
    "f16xiq4_xs", "f16xnvfp4", "f64",      "f32xq4_k_int8"};

struct Sizes {
  std::int64_t m, n, k, batch = 1;
};
constexpr Sizes kLarge = {4096, 4096, 4096}, kMedium = {512, 512, 1024}, kSmall = {128, 128, 1024},
                kRow = {1, 4096, 4096}, kRows = {6, 4096, 4096}, kColumn = {4096, 1, 4096},
                kColumns = {4096, 6, 4096}, kBatched = {32, 32, 64, 1000};
constexpr Sizes kKinds[] = {kLarge, kMedium, kSmall, kRow, kRows, kColumn, kColumns, kBatched};

Problem problem(const Sizes& size, const std::string& types, Transpose trans_b = Transpose::kNo) {
  const Types parsed = parse_types(types);
  if (quantized(parsed)) trans_b = Transpose::kYes;
  return packed_problem(size.m, size.n, size.k, Transpose::kNo, trans_b, size.batch, parsed);
}

/// Xe-LP and Xe-LPG have no units. Their driver makes packed dot products of an operation of 8-bit
/// integers, and of others what a tiled kernel does with fewer instructions.
bool begins_with_matrix(const DeviceProfile& device, const Problem& p) {
  const bool emulated = device.name == "tgl" || device.name == "mtl";
  return (!emulated || bytes_of(p.types.a) == 1) &&
         std::ranges::any_of(device.limits.matrix_shapes,
                             [&](const MatrixShape& shape) { return shape.operand == p.types.a; });
}

Prior first(const DeviceProfile& device, const Problem& p) {
  const std::vector<Prior> all = default_kernels(device, device.limits, p, own_buffers(p));
  return all.empty() ? Prior{} : all.front();
}

TEST(DefaultKernel, EveryGenerationHasALegalOneForEveryKindAndType) {
  for (const DeviceProfile& device : chip_profiles())
    for (const char* types : kTypes)
      for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes})
        for (const Sizes& size : kKinds) {
          const Problem p = problem(size, types, trans_b);
          SCOPED_TRACE(device.name + " " + to_string(p));
          const std::vector<Prior> all = default_kernels(device, device.limits, p, own_buffers(p));
          ASSERT_FALSE(all.empty());
          std::set<std::string> seen;
          for (const Prior& kernel : all) {
            EXPECT_EQ(illegal_reason(kernel.variant, device.limits, p, own_buffers(p)),
                      std::nullopt);
            EXPECT_TRUE(seen.insert(to_string(kernel.variant)).second) << "listed twice";
          }
          EXPECT_EQ(default_kernel(device, p), all.front().variant);
          EXPECT_EQ(all.back().variant, fallback_variant());
          EXPECT_EQ(all.front().variant.packed_a, Packed::kNo) << "packing costs a pass";
          EXPECT_EQ(all.front().variant.packed_b, Packed::kNo);
        }
}

TEST(DefaultKernel, TheChoiceIsOfTheTables) {
  for (const DeviceProfile& device : chip_profiles())
    for (const char* types : kTypes)
      for (const Sizes& size : kKinds) {
        const Problem p = problem(size, types, Transpose::kYes);
        if (is_float64(p.types)) continue;  // The tables have no lines for it yet.
        EXPECT_THAT(first(device, p).source, Not(HasSubstr("default of")))
            << device.name << " " << to_string(p);
      }
}

TEST(DefaultKernel, TheFamilyFollowsTheKindOfProblem) {
  for (const DeviceProfile& device : chip_profiles())
    for (const char* types : kTypes) {
      SCOPED_TRACE(device.name + " " + types);
      for (const Sizes& size : {kRow, kRows, kColumn, kColumns})
        EXPECT_EQ(first(device, problem(size, types)).variant.family, Family::kVector);
      for (const Sizes& size : {kLarge, kMedium, kSmall}) {
        const Problem p = problem(size, types);
        EXPECT_EQ(first(device, p).variant.family,
                  begins_with_matrix(device, p) ? Family::kMatrix : Family::kTiled)
            << to_string(p);
      }
      if (!quantized(parse_types(types))) {
        EXPECT_EQ(first(device, problem(kBatched, types)).variant.family, Family::kBatchedSmall);
      }
    }
}

// No GPU has run them yet. The tuner tries them.
TEST(DefaultKernel, NoneSplitsFloat32Operands) {
  DeviceProfile device = chip_profile("172");
  device.limits.matrix_shapes.push_back({16, 16, 16, DataType::kBf16, DataType::kF32});
  const auto on_units = [](const Prior& kernel) {
    return kernel.variant.family == Family::kMatrix;
  };
  for (const Sizes& size : kKinds) {
    const Problem p = problem(size, "f32");
    EXPECT_TRUE(
        std::ranges::none_of(default_kernels(device, device.limits, p, own_buffers(p)), on_units))
        << to_string(p);
  }
  EXPECT_TRUE(std::ranges::any_of(priors_for(device, problem(kLarge, "f32")), on_units));
}

TEST(DefaultKernel, FewRowsAndColumnsShareTheLoadsOfTheOtherOperand) {
  for (const DeviceProfile& device : chip_profiles())
    for (const char* types : {"f32", "f16"}) {
      SCOPED_TRACE(device.name + " " + types);
      EXPECT_EQ(first(device, problem(kRow, types)).variant.tile_m, 1);
      EXPECT_EQ(first(device, problem(kRows, types)).variant.tile_m, 4);
      EXPECT_EQ(first(device, problem({2, 4096, 4096}, types)).variant.tile_m, 2);
      EXPECT_EQ(first(device, problem(kColumn, types)).variant.tile_n, 1);
      EXPECT_EQ(first(device, problem(kColumns, types)).variant.tile_n, 4);
    }
}

TEST(DefaultKernel, SmallProblemsGetSmallTilesOrPartsOfKAndLargeOnesLargeTiles) {
  const auto area = [](const Variant& v) { return v.tile_m * v.tile_n; };
  for (const DeviceProfile& device : chip_profiles())
    for (const char* types : {"f32", "f16", "f16xq4b32_f16"}) {
      const Variant large = first(device, problem(kLarge, types)).variant,
                    medium = first(device, problem(kMedium, types)).variant;
      EXPECT_LE(area(medium) / medium.split_k, 64 * 64) << device.name << " " << types;
      EXPECT_GE(area(large), area(medium)) << device.name << " " << types;
      EXPECT_EQ(large.split_k, 1) << device.name << " " << types;
    }
}

TEST(DefaultKernel, AWorkgroupForEachUnitIsEnough) {
  DeviceProfile device = chip_profile("NAVI31");
  const Problem p = problem({1024, 1024, 1024}, "f32");
  const auto workgroups = [&] {
    const Variant v = default_kernel(device, p);
    return p.m / v.tile_m * (p.n / v.tile_n) * v.split_k;
  };
  device.limits.compute_units = 8;
  EXPECT_EQ(workgroups(), 32) << "the largest tile";
  device.limits.compute_units = 96;
  EXPECT_GE(workgroups(), 96);
}

TEST(DefaultKernel, FewTilesAreComputedInPartsOfKThatFillTheDevice) {
  for (const char* chip : {"NAVI31", "172", "dg2"}) {
    DeviceProfile device = chip_profile(chip);
    const auto kernel = [&](std::uint32_t units, std::int64_t k) {
      device.limits.compute_units = units;
      return default_kernel(device, problem({35, 1500, k}, "f32"));
    };
    const auto workgroups = [](const Variant& v) {
      return (35 + v.tile_m - 1) / v.tile_m * ((1500 + v.tile_n - 1) / v.tile_n) * v.split_k;
    };
    EXPECT_GE(workgroups(kernel(132, 1760)), 132) << chip;
    EXPECT_EQ(kernel(4, 1760).split_k, 1) << chip << ": its tiles fill four units";
    EXPECT_EQ(kernel(132, 64).split_k, 1) << chip << ": a second dispatch takes longer";
  }
}

TEST(DefaultKernel, GpusRoundRowsOfAToEightBitsWhereThatIsAllowed) {
  for (const char* chip : {"NAVI31", "172", "dg2"})
    for (const char* types : {"f32xq4_k_int8", "f32xq8_0_int8", "f32xq6_k_int8", "f32xq4b32_int8"})
      for (const std::int64_t m : {1, 4, 64, 512}) {
        // Its windows are longer, for which Mesa's compiler for NVIDIA needs scratch memory.
        const bool few = m <= 8;
        if (types == std::string("f32xq6_k_int8") && few && (m > 1 || chip == std::string("172")))
          continue;
        const Variant v = default_kernel(chip_profile(chip), problem({m, 4096, 4096}, types));
        EXPECT_TRUE(multiplies_int8(v, parse_types(types))) << chip << " " << types << " " << m;
      }
}

TEST(DefaultKernel, SoftwareDevicesGetAWorkgroupForEachProcessor) {
  const DeviceProfile device = profile_of(DeviceKind::kSoftware, lavapipe_limits());
  const std::int64_t processors = std::max(1u, std::thread::hardware_concurrency());
  const auto tile = [&](std::int64_t n) {
    return default_kernel(device, problem({1, n, 4096}, "f32xq8_0")).tile_n;
  };
  EXPECT_EQ(tile(256 * processors), 256);
  EXPECT_EQ(tile(128 * processors), 128);
}

TEST(DefaultKernel, WeightsThatAreTooLargeToPackAreReadAsTheyLie) {
  const DeviceProfile device = profile_of(DeviceKind::kSoftware, lavapipe_limits());
  const auto kernel = [&](std::int64_t n) {
    return default_kernel(device, problem({512, n, 4096}, "f32xq4_k"));
  };
  const auto packed_bytes = [](std::int64_t n) { return std::uint64_t(n) * 4096 * 4; };
  ASSERT_LT(packed_bytes(4096), device.limits.max_storage_buffer_range_bytes);
  ASSERT_GT(packed_bytes(14336), device.limits.max_storage_buffer_range_bytes);
  EXPECT_EQ(kernel(4096).packed_b, Packed::kYes);
  EXPECT_EQ(kernel(14336).family, Family::kVector);
}

TEST(DefaultKernel, TilesThatWouldBeMostlyEmptyGiveWay) {
  const DeviceProfile device = chip_profile("NAVI31");
  // 1000 matrices occupy the device whatever the tile, so that only its waste differs.
  EXPECT_EQ(default_kernel(device, problem({64, 64, 64, 1000}, "f16")).tile_m, 64);
  EXPECT_EQ(default_kernel(device, problem({60, 60, 64, 1000}, "f32")).family, Family::kTiled);
  EXPECT_EQ(default_kernel(device, problem({48, 48, 64, 1000}, "f32")).family,
            Family::kBatchedSmall);
}

TEST(DefaultKernel, RowsThatVectorsDoNotDivideAreLoadedByElements) {
  for (const DeviceProfile& device : chip_profiles())
    for (const char* types : {"f32", "f16", "i8_i32"}) {
      const Problem p = problem({4099, 4101, 4103}, types);
      const Variant v = default_kernel(device, p);
      EXPECT_EQ(illegal_reason(v, device.limits, p, own_buffers(p)), std::nullopt);
      EXPECT_THAT(v.family, AnyOf(Family::kMatrix, Family::kTiled))
          << device.name << " " << to_string(p);
    }
}

TEST(DefaultKernel, LegalityIsThatOfTheGivenLimits) {
  const DeviceProfile device = profile_of(DeviceKind::kSoftware, lavapipe_limits());
  const Problem p = problem(kLarge, "f32");
  const auto uses_texels = [](const Variant& v) {
    return v.load_path_a == LoadPath::kTexel || v.load_path_b == LoadPath::kTexel;
  };
  EXPECT_TRUE(uses_texels(default_kernel(device, p)));
  DeviceLimits without = device.limits;
  without.texel_buffer_r32 = without.texel_buffer_rgba32 = false;
  const std::vector<Prior> all = default_kernels(device, without, p, own_buffers(p));
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().variant.family, Family::kBroadcast);
  for (const Prior& kernel : all) EXPECT_FALSE(uses_texels(kernel.variant));
}

TEST(DefaultKernel, DevicesWithoutATableGetTheDefaultsOfTheFamily) {
  const auto family = [](const DeviceProfile& device, const Sizes& size, const char* types) {
    return default_kernel(device, problem(size, types)).family;
  };
  const DeviceProfile plain = profile_of(DeviceKind::kDiscrete, discrete_limits());
  const DeviceProfile units = profile_of(DeviceKind::kDiscrete, matrix_limits());
  EXPECT_EQ(family(plain, kLarge, "f32"), Family::kTiled);
  EXPECT_EQ(family(plain, kLarge, "f16"), Family::kTiled);
  EXPECT_EQ(family(units, kLarge, "f16"), Family::kMatrix);
  for (const char* types : kTypes) {
    EXPECT_EQ(family(plain, kRow, types), Family::kVector) << types;
    EXPECT_EQ(family(plain, kColumn, types), Family::kVector) << types;
    EXPECT_EQ(default_kernel(plain, problem(kRow, types)).tile_m, 1) << types;
    EXPECT_EQ(default_kernel(plain, problem(kColumn, types)).tile_n, 1) << types;
  }
  EXPECT_EQ(family(plain, kBatched, "f32"), Family::kBatchedSmall);
  EXPECT_EQ(family(profile_of(DeviceKind::kOther, minimum_limits()), kLarge, "f32"),
            Family::kTiled);
}

TEST(DefaultKernel, WhatNothingCanComputeHasNone) {
  const DeviceProfile device = profile_of(DeviceKind::kOther, minimum_limits());
  const Problem p = problem({1 << 20, 1 << 20, 1 << 20}, "f32");
  EXPECT_TRUE(default_kernels(device, device.limits, p, own_buffers(p)).empty());
  EXPECT_EQ(default_kernel(device, p), fallback_variant());
}

TEST(DefaultKernel, SoftwareDevicesGetTheFamilyOfTheKind) {
  for (const std::uint32_t lanes : {4u, 8u}) {
    DeviceProfile device = profile_of(DeviceKind::kSoftware, lavapipe_limits());
    device.limits.subgroup_size = device.limits.min_subgroup_size =
        device.limits.max_subgroup_size = lanes;
    SCOPED_TRACE(lanes);
    // By matrix operations that a processor computes, 128x128 of f16xq4b32_f16 takes 3 to 4.6
    // times as long as by the kernel for large problems (lavapipe of Mesa 26).
    device.limits.matrix_shapes = {{8, 8, 8, DataType::kF16, DataType::kF32}};
    device.limits.float16_arithmetic = true;
    for (const char* types : kTypes)
      for (const Sizes& size : kKinds)
        EXPECT_NE(default_kernel(device, problem(size, types)).family, Family::kMatrix) << types;
    for (const char* types : {"f32", "f16", "bf16"}) {
      for (const Sizes& size : {kLarge, kMedium})
        EXPECT_EQ(default_kernel(device, problem(size, types)).family,
                  lanes == 8 ? Family::kBroadcast : Family::kRegister);
      EXPECT_EQ(default_kernel(device, problem({16, 16, 16, 1000}, types)).family,
                Family::kBatchedSmall);
      EXPECT_EQ(default_kernel(device, problem({32, 32, 64, 200}, types)).family,
                Family::kRegister);
      for (const Sizes& size : {kRow, kRows, kColumn, kColumns})
        EXPECT_EQ(default_kernel(device, problem(size, types)).family, Family::kVector);
    }
  }
}

TEST(DefaultKernel, IsTheFirstStartOfASearchAndPriorsFollow) {
  const DeviceProfile device = chip_profile("172");
  const Problem p = problem(kMedium, "f16");
  const std::vector<Variant> starts = first_starts(device, p);
  ASSERT_FALSE(starts.empty());
  EXPECT_EQ(starts.front(), default_kernel(device, p));
  EXPECT_EQ(starts.size(), 1 + priors_for(device, p).size());
}

}  // namespace
}  // namespace rooftile
