#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

/// A software device on which arithmetic is cheap, and storage-buffer loads and barriers are
/// expensive (orders of magnitude of llvmpipe).
DeviceRates software() {
  return {.submit_ns = 37000,
          .dispatch_ns = 11500,
          .workgroup_ns = 100,
          .barrier_ns = 30,
          .fma_gflops = 80,
          .shared_gbps = 8,
          .buffer_loads_per_ns = 0.5,
          .buffer_vector_loads_per_ns = 0.25,
          .texel_loads_per_ns = 0.7,
          .texel_vector_loads_per_ns = 0.7,
          .levels = {{.name = "memory", .gbps = 20}},
          .compute_units = 2};
}

DeviceRates discrete() {
  return {.submit_ns = 20000,
          .dispatch_ns = 2000,
          .workgroup_ns = 0.5,
          .fma_gflops = 60000,
          .shared_gbps = 30000,
          .buffer_loads_per_ns = 4000,
          .buffer_vector_loads_per_ns = 1500,
          .texel_loads_per_ns = 2000,
          .texel_vector_loads_per_ns = 500,
          .levels = {{.name = "cache", .gbps = 8000, .footprint_bytes = 40e6},
                     {.name = "memory", .gbps = 3000}},
          .compute_units = 132};
}

const Problem kProblem = packed_problem(512, 500, 520);

const Variant kNaive{.family = Family::kNaive, .tile_m = 16, .tile_n = 16};
const Variant kRegister = parse_variant(
    "family=register tile_m=64 tile_n=64 reg_m=8 reg_n=8 vector_width_a=4 "
    "vector_width_b=4 unroll_k=4");
const Variant kTiled = parse_variant(
    "family=tiled tile_m=128 tile_n=128 tile_k=16 reg_m=8 reg_n=8 vector_width_a=4 "
    "vector_width_b=4 stage=shared unroll_k=4");

double cost(const Variant& v, const DeviceRates& rates, const Problem& p = kProblem) {
  return analytical_ns(p, v, rates);
}

TEST(Analytical, OrdersTheFamiliesOfASoftwareDeviceAsMeasured) {
  // llvmpipe's measured rates at 512 and 1024: small shared tiles 0.3, naive 0.5, registers 8,
  // from texel buffers 20, packed 43 GFLOP/s.
  Variant small_tile = kTiled;
  small_tile.tile_m = small_tile.tile_n = 16;
  small_tile.reg_m = small_tile.reg_n = 1;
  Variant texel = kRegister;
  texel.load_path_a = texel.load_path_b = LoadPath::kTexel;
  const Variant packed = parse_variant(
      "family=broadcast tile_m=32 tile_n=128 reg_m=32 reg_n=16 vector_width_a=4 "
      "vector_width_b=4 load_path_a=texel load_path_b=texel unroll_k=8 packed_a=yes "
      "packed_b=yes");
  EXPECT_GT(cost(small_tile, software()), cost(kNaive, software()));
  EXPECT_GT(cost(kNaive, software()), cost(kRegister, software()));
  EXPECT_GT(cost(kRegister, software()), cost(texel, software()));
  EXPECT_GT(cost(texel, software()), cost(packed, software()));
}

TEST(Analytical, PrefersSharedTilesOnADiscreteDevice) {
  const Problem large = packed_problem(4096, 4000, 4100);
  EXPECT_LT(cost(kTiled, discrete(), large), cost(kRegister, discrete(), large));
  EXPECT_LT(cost(kRegister, discrete(), large), cost(kNaive, discrete(), large));
}

TEST(Analytical, SmallProblemsPreferSmallTilesOnDevicesWithManyUnits) {
  Variant small = kTiled;
  small.tile_m = small.tile_n = 32;
  small.reg_m = small.reg_n = 4;
  const Problem p = packed_problem(200, 210, 500);
  EXPECT_LT(cost(small, discrete(), p), cost(kTiled, discrete(), p));
}

TEST(Analytical, EachImprovementAloneIsCheaper) {
  Variant blocked = kRegister, vectors = kRegister, unrolled = kRegister;
  blocked.reg_m = 4;
  vectors.vector_width_b = 1;
  unrolled.unroll_k = 1;
  for (const DeviceRates& rates : {software(), discrete()})
    for (const Variant& worse : {blocked, vectors, unrolled})
      EXPECT_GT(cost(worse, rates), cost(kRegister, rates)) << to_string(worse);
  Variant one_stage = kTiled, two_stages = kTiled;
  two_stages.stages = 2;
  EXPECT_GT(cost(one_stage, software()), cost(two_stages, software()));
}

TEST(Analytical, RaggedEdgesCostWholeTiles) {
  const auto of_rows = [](std::int64_t m) {
    return cost(kRegister, software(), packed_problem(m, 64, 300));
  };
  // Two workgroups occupy both units; one more row adds a third workgroup and a second wave.
  EXPECT_GT(of_rows(129), 1.5 * of_rows(128));
  EXPECT_NEAR(of_rows(191), of_rows(129), 0.05 * of_rows(129));
}

TEST(Analytical, LaunchAndPackingTimeIsAdded) {
  const double groups = 8 * 8;
  DeviceRates free_launch = software();
  free_launch.workgroup_ns = 0;
  EXPECT_NEAR(cost(kRegister, software()) - cost(kRegister, free_launch),
              groups * software().workgroup_ns, 1);
  Variant packed = kRegister;
  packed.packed_b = Packed::kYes;
  // Packing reads B and writes it with 512 columns for 500. Loads and stores take four elements;
  // stores have no measured rate on this device and count as bytes.
  const double bytes = 520 * (500 + 512) * 4;
  EXPECT_NEAR(cost(packed, software()) - cost(kRegister, software()),
              software().dispatch_ns + bytes / 20 + bytes / 2 / 16 / 0.25 + bytes / 2 / 20, 1);
}

TEST(Analytical, SplitKAddsTheTimeOfTheReduceKernel) {
  Variant split = kRegister;
  split.split_k = 4;
  // There are plenty of workgroups without split-K, so that it only adds cost. The kernel reads
  // texels, so that the storage-buffer loads are those of the reduction: four partial sums, four
  // elements at a time.
  split.load_path_a = split.load_path_b = LoadPath::kTexel;
  DeviceRates slow_loads = software();
  slow_loads.buffer_vector_loads_per_ns = 0.01;
  EXPECT_NEAR(cost(split, slow_loads) - cost(split, software()),
              4 * 512.0 * 500 / 4 * (1 / 0.01 - 1 / software().buffer_vector_loads_per_ns), 1e3);
  // One workgroup leaves many units idle, and split-K occupies them.
  const Problem deep = packed_problem(60, 64, 100000);
  Variant whole = split;
  whole.split_k = 1;
  EXPECT_LT(cost(split, discrete(), deep), 0.5 * cost(whole, discrete(), deep));
}

TEST(Analytical, BarriersCostEachInvocation) {
  DeviceRates free_barriers = software();
  free_barriers.barrier_ns = 0;
  const double tiles = 33, groups = 4 * 4, invocations = 256;  // 520 steps in tiles of 16
  EXPECT_NEAR(cost(kTiled, software()) - cost(kTiled, free_barriers),
              2 * tiles * groups * invocations * software().barrier_ns, 1);
}

TEST(Analytical, StoresAndBroadcastsCostWhatIsMeasured) {
  DeviceRates slow_stores = software();
  slow_stores.buffer_vector_stores_per_ns = 0.01;
  DeviceRates fast_stores = slow_stores;
  fast_stores.buffer_vector_stores_per_ns = 1;
  EXPECT_NEAR(cost(kRegister, slow_stores) - cost(kRegister, fast_stores),
              512.0 * 500 / 4 * (1 / 0.01 - 1), 1e3);
  const Variant lanes = parse_variant(
      "family=broadcast tile_m=16 tile_n=64 reg_m=16 reg_n=8 vector_width_a=4 "
      "vector_width_b=4 stage=subgroup unroll_k=8 packed_a=yes subgroup_size=8");
  DeviceRates broadcasts = software();
  broadcasts.broadcasts_per_ns = 0.5;
  const double vectors = 32 * 8 * 8 * (16.0 * 520 / 4);  // workgroups, lanes, of A
  EXPECT_NEAR(cost(lanes, broadcasts) - cost(lanes, software()), vectors / 0.5, 1);
}

TEST(Analytical, StoresOfCHaveTheirOwnRate) {
  DeviceRates slow = software();
  slow.c_vector_stores_per_ns = 0.01;
  DeviceRates fast = slow;
  fast.c_vector_stores_per_ns = 1;
  EXPECT_NEAR(cost(kRegister, slow) - cost(kRegister, fast), 512.0 * 500 / 4 * (1 / 0.01 - 1), 1e3);
  // Packing has no cost per store.
  Variant packed = kRegister;
  packed.packed_b = Packed::kYes;
  EXPECT_NEAR(cost(packed, slow) - cost(kRegister, slow),
              cost(packed, fast) - cost(kRegister, fast), 1e-3);
}

TEST(Analytical, AccumulatorsHeldAcrossBarriersHaveTheirOwnRate) {
  DeviceRates turns = software();
  turns.synchronised_fma_gflops = 10;
  turns.synchronised_workgroup_ns = 1000;
  EXPECT_EQ(cost(kRegister, turns), cost(kRegister, software()));
  const double groups = 4 * 4, multiply_adds = groups * 128 * 128 * 520;
  EXPECT_NEAR(cost(kTiled, turns) - cost(kTiled, software()),
              2 * multiply_adds * (1.0 / 10 - 1.0 / 80) + groups * (1000 - software().workgroup_ns),
              1);
  // A rate above the peak is measurement noise.
  turns.synchronised_fma_gflops = 100;
  turns.synchronised_workgroup_ns = software().workgroup_ns;
  EXPECT_EQ(cost(kTiled, turns), cost(kTiled, software()));
}

TEST(Analytical, ExtraMaskedIterationsCostTheirTime) {
  DeviceRates masked = software();
  masked.loop_overrun = 1;
  DeviceRates arithmetic{.fma_gflops = 80, .levels = {{.name = "memory", .gbps = 1e9}}};
  DeviceRates masked_arithmetic = arithmetic;
  masked_arithmetic.loop_overrun = 1;
  const auto ratio = [&](const Variant& v) {
    return cost(v, masked_arithmetic) / cost(v, arithmetic);
  };
  // 520 steps are 130 trips of four. One extra masked iteration and one masked pass through the
  // empty remainder, which is as long as a vector of A, come on top.
  EXPECT_NEAR(ratio(kRegister), 1 + (4.0 + 4) / 520, 2e-3);
  Variant exact = kRegister;
  exact.edge = Edge::kExact;
  EXPECT_NEAR(ratio(exact), 1 + 4.0 / 520, 2e-3);
  // 33 tiles and one extra iteration, each of four trips and one extra iteration.
  EXPECT_NEAR(ratio(kTiled), 34.0 / 33 * 5 / 4, 1e-2);
  Variant unrolled = kTiled;
  unrolled.unroll_k = 16;  // The tile has no inner loop.
  EXPECT_NEAR(ratio(unrolled), 34.0 / 33, 2e-3);
  const double groups = 4 * 4, invocations = 256;
  DeviceRates free_barriers = masked;
  free_barriers.barrier_ns = 0;
  EXPECT_NEAR(cost(kTiled, masked) - cost(kTiled, free_barriers),
              2 * 34 * groups * invocations * software().barrier_ns, 1);
  // A split with one trip executes it twice, and its remainder once.
  Variant split = kRegister;
  split.split_k = 130;
  EXPECT_GT(ratio(split), 1.5);
}

TEST(Analytical, WorksFromArithmeticAndBandwidthAlone) {
  const DeviceRates few{.dispatch_ns = 10,
                        .fma_gflops = 80,
                        .shared_gbps = 100,
                        .levels = {{.name = "memory", .gbps = 20}}};
  EXPECT_GT(cost(kNaive, few), cost(kRegister, few));
}

double cost_of(const std::string& limiter, const Problem& p, const Variant& v) {
  for (const Bound& part : costs(p, v, software()))
    if (part.limiter == limiter) return part.ns;
  return 0;
}

TEST(Costs, AddUpToTheAnalyticalTime) {
  for (const Variant& v : {kNaive, kRegister, kTiled}) {
    const std::vector<Bound> parts = costs(kProblem, v, software());
    double sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      sum += parts[i].ns;
      if (i > 0) {
        EXPECT_LE(parts[i].ns, parts[i - 1].ns);
      }
      EXPECT_EQ(std::ranges::count(parts, parts[i].limiter, &Bound::limiter), 1);
    }
    EXPECT_NEAR(sum, cost(v, software()), 1e-9 * sum) << "none of them packs";
  }
}

TEST(Costs, KernelsOfPackedDotProductsLoadWords) {
  const Problem bytes =
      packed_problem(512, 512, 512, Transpose::kNo, Transpose::kYes, 1, parse_types("i8"));
  Variant words = kRegister;
  words.dot = 4;
  EXPECT_NEAR(cost_of("memory:cache", bytes, words), cost_of("memory:cache", bytes, kRegister) / 4,
              0.01 * cost_of("memory:cache", bytes, words));
}

}  // namespace
}  // namespace rooftile
