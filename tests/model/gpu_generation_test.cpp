#include "runtime/model/gpu/gpu_generation.h"

#include <gtest/gtest.h>

#include "runtime/model/gpu/registers.h"
#include "runtime/model/roofline.h"
#include "tests/model/gpu_profiles.h"

namespace rooftile {
namespace {

const GpuGeneration& generation(const std::string& chip) {
  return *gpu_generation(gpu_profile(chip));
}

TEST(GpuGeneration, IsToldByFeatures) {
  EXPECT_EQ(generation("NAVI21").name, "RDNA 1 and 2");
  EXPECT_EQ(generation("NAVI31").name, "RDNA 3");
  EXPECT_EQ(generation("GFX1151").name, "RDNA 3");
  EXPECT_EQ(generation("MI200").name, "CDNA");
  EXPECT_EQ(generation("162").name, "Turing and later");
  EXPECT_EQ(generation("dg2").name, "Xe-HPG");
  EXPECT_EQ(generation("mtl").name, "Xe-LP and Xe-LPG");
  EXPECT_EQ(generation("bmg").name, "Xe2");
}

TEST(GpuGeneration, SoftwareDevicesAndUnknownVendorsHaveNone) {
  DeviceProfile device = gpu_profile("NAVI31");
  device.kind = DeviceKind::kSoftware;
  EXPECT_EQ(gpu_generation(device), nullptr);
  device = gpu_profile("NAVI31");
  device.vendor_id = 0x13b5;
  EXPECT_EQ(gpu_generation(device), nullptr);
}

TEST(GpuGeneration, PublishedRatesAreNoCalibration) {
  const DeviceRates rates = published_rates(generation("bmg"), 20);
  EXPECT_FALSE(is_calibrated(rates));
  EXPECT_EQ(rates.fma_gflops, 20 * 256);  // 128 multiply-adds a unit
  EXPECT_EQ(rates.compute_units, 20);
  EXPECT_EQ(published_rates(generation("bmg"), 0).compute_units, 1);
  EXPECT_EQ(rates.gpu, &generation("bmg"));
}

TEST(GpuGeneration, EmulatedMatrixOperationsAreTwoInstructionsOrPackedDotProducts) {
  const DeviceRates emulated = published_rates(generation("mtl"), 0);
  EXPECT_EQ(2 * emulated.matrix_f16_gflops, emulated.fma_gflops);
  EXPECT_EQ(emulated.matrix_i8_gflops, emulated.dot_gflops);
  const DeviceRates units = published_rates(generation("dg2"), 0);
  EXPECT_EQ(units.matrix_f16_gflops, 8 * units.fma_gflops);
  EXPECT_EQ(units.matrix_u8_gflops, 16 * units.fma_gflops);
}

Variant tiled(int tile_k, int reg_m, int reg_n) {
  return {.family = Family::kTiled,
          .tile_m = 128,
          .tile_n = 64,
          .tile_k = tile_k,
          .reg_m = reg_m,
          .reg_n = reg_n,
          .vector_width_a = 4,
          .vector_width_b = 4,
          .stage = Stage::kShared,
          .unroll_k = tile_k};
}

TEST(Registers, HoldSumsTheNextTileAndOperands) {
  // 64 sums, 192 x 16 elements over 128 invocations, 16 operands, and 16 for the rest.
  EXPECT_EQ(needed_registers(tiled(16, 8, 8), {}, generation("172")), 64 + 24 + 16 + 16);
  EXPECT_EQ(needed_registers(tiled(16, 8, 8), {}, generation("dg2")), 2 * 64 + 24 + 16 + 16);
  const Variant lanes =
      parse_variant("family=broadcast tile_m=16 tile_n=64 reg_m=16 reg_n=4 unroll_k=8");
  EXPECT_EQ(needed_registers(lanes, {}, generation("172")), 64 + 8 * 20 + 16);
  Variant broadcast = lanes;  // Each lane holds a part of A.
  broadcast.stage = Stage::kSubgroup;
  EXPECT_EQ(needed_registers(broadcast, {}, generation("172")), 64 + 8 * 4 + 16);
  // Four columns of a 4-bit B are a word for each eight steps.
  const Types four_bits = parse_types("f16xq4b32_f16");
  EXPECT_EQ(needed_registers(lanes, four_bits, generation("172")), 64 + 8 * 16 + 4 + 16);
}

const Types kHalf{.a = DataType::kF16};
const Variant kMatrix = parse_variant(
    "family=matrix tile_m=128 tile_n=64 tile_k=32 subgroup_m=64 subgroup_n=32 "
    "matrix_m=16 matrix_n=16 matrix_k=16 stage=shared unroll_k=32 subgroup_size=32");

TEST(Registers, HoldFragmentsOfMatrixUnits) {
  const double sums = 64, fetched = 192 * 32 / 2 / 128.0, step = 96 * 16 / 2 / 32.0;
  EXPECT_EQ(needed_registers(kMatrix, kHalf, generation("172")), sums + fetched + step + 16);
  // Half of the lanes repeat the fragments of the others.
  EXPECT_EQ(needed_registers(kMatrix, kHalf, generation("NAVI31")), sums + fetched + 2 * step + 16);
  // The fragments of both steps of the tile are there twice, but for one.
  EXPECT_EQ(needed_registers(kMatrix, kHalf, generation("bmg")), sums + fetched + 3 * step + 16);
  Variant whole = kMatrix;
  whole.scope = Scope::kWorkgroup;
  EXPECT_EQ(needed_registers(whole, kHalf, generation("172")), 0);
}

TEST(Registers, AreDividedAmongTheInvocationsThatShareThem) {
  Variant v = tiled(16, 8, 4);  // 256 invocations
  EXPECT_EQ(available_registers(v, generation("172")), 255);
  v.tile_m = 256;
  EXPECT_EQ(available_registers(v, generation("172")), 65536 / 512);
  EXPECT_EQ(available_registers(v, generation("NAVI31")), 256);
  EXPECT_EQ(available_registers(v, generation("bmg")), 128);
  v.subgroup_size = 32;
  EXPECT_EQ(available_registers(v, generation("bmg")), 64);
}

TEST(Registers, SurelyFitWithAQuarterToSpare) {
  Variant v = tiled(16, 8, 8);  // Needs 120 registers, on Intel's GPUs 184.
  EXPECT_TRUE(surely_fits_registers(v, {}, generation("172")));
  EXPECT_FALSE(surely_fits_registers(v, {}, generation("bmg")));
  v.tile_m = 256;
  v.tile_n = 128;  // 512 invocations have 128 each.
  EXPECT_FALSE(surely_fits_registers(v, {}, generation("172")));
  const Variant unit = parse_variant(
      "family=matrix tile_m=32 tile_n=32 tile_k=16 subgroup_m=16 subgroup_n=16 "
      "matrix_m=8 matrix_n=8 matrix_k=16 stage=shared unroll_k=16 subgroup_size=8");
  EXPECT_TRUE(surely_fits_registers(unit, kHalf, generation("dg2")));
  EXPECT_FALSE(surely_fits_registers(unit, kHalf, generation("mtl"))) << "the unit is emulated";
  // 32 sums, eight steps of 4 rows and 8 columns, which may be unpacked ahead.
  const Variant rows =
      parse_variant("family=vector tile_m=4 tile_n=64 tile_k=8 reg_m=4 reg_n=8 unroll_k=8");
  const Types four_bits = parse_types("f16xq4b32_f16");
  EXPECT_LT(needed_registers(rows, four_bits, generation("bmg")), 96);
  EXPECT_FALSE(surely_fits_registers(rows, four_bits, generation("bmg")));
}

/// One term of a kernel's predicted time, and how much more it is than without what is known of the
/// GPU.
double more(const std::string& term, const Problem& p, const Variant& v, DeviceRates rates) {
  const auto ns = [&] {
    for (const Bound& cost : costs(p, v, rates))
      if (cost.limiter == term) return cost.ns;
    ADD_FAILURE() << "no term " << term;
    return 0.0;
  };
  const double with = ns();
  rates.gpu = nullptr;
  return with - ns();
}

TEST(AnalyticalOnGpus, EachTileCostsInstructions) {
  const Problem p = packed_problem(1280, 640, 160);
  const double lanes_per_ns = 64, workgroups = 100, tiles = 10;
  EXPECT_NEAR(more("math", p, tiled(16, 8, 4), published_rates(generation("NAVI31"), 0)),
              workgroups * 256 * tiles * 32 / lanes_per_ns, 1e-3);
}

TEST(AnalyticalOnGpus, MatrixOperationsAndWordsOfFragmentsFromMemoryAreInstructions) {
  Problem p = packed_problem(1280, 640, 160);
  p.types = kHalf;
  Variant direct = kMatrix;
  direct.load_path_b = LoadPath::kDirect;
  const double invocations = 100 * 128, tiles = 5;
  // Each of the two rows of subgroups loads all of B.
  const double words = 1280 / 64 * (640.0 * 160) / 2;
  const double operations = 1280.0 * 640 * 160 / (16 * 16 * 16) * 32;  // Of lanes.
  EXPECT_NEAR(more("math", p, direct, published_rates(generation("172"), 0)),
              (invocations * tiles * 32 + words + operations) / 128, 1e-3);
}

TEST(AnalyticalOnGpus, SpilledRegistersAreTraffic) {
  const Problem p = packed_problem(1280, 640, 160);
  const Variant v = tiled(16, 8, 8);  // Needs 184 registers of the 128 on Xe2.
  const double invocations = 100 * 128, steps = 160;
  EXPECT_NEAR(more("memory:cache", p, v, published_rates(generation("bmg"), 0)),
              invocations * steps * (184 - 128) * 2 * 4 / 64, 1e-3);
}

}  // namespace
}  // namespace rooftile
