// Compares the traffic formulas with a program that walks the tile loop and counts every accessed
// element.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "runtime/model/roofline.h"
#include "tests/model/random_inputs.h"

namespace rooftile {
namespace {

struct Counted {
  std::int64_t a = 0, b = 0, c = 0;
  double bytes() const { return 4.0 * static_cast<double>(a + b + c); }
};

/// Every block of C reads its rows of A and columns of B in steps of block_k, inside the matrices
/// only.
Counted walk(const Problem& p, int block_m, int block_n, int block_k) {
  Counted counted;
  for (std::int64_t batch = 0; batch < p.batch; ++batch)
    for (std::int64_t row = 0; row < p.m; row += block_m)
      for (std::int64_t column = 0; column < p.n; column += block_n) {
        const std::int64_t rows = std::min<std::int64_t>(block_m, p.m - row);
        const std::int64_t columns = std::min<std::int64_t>(block_n, p.n - column);
        for (std::int64_t k = 0; k < p.k; k += block_k) {
          const std::int64_t depth = std::min<std::int64_t>(block_k, p.k - k);
          counted.a += rows * depth;
          counted.b += depth * columns;
        }
        counted.c += rows * columns * (p.beta == 0.0f ? 1 : 2);
      }
  return counted;
}

RC_GTEST_PROP(Traffic, EqualsWhatTheTileLoopTouches, ()) {
  Problem p = packed_problem(random_size(300), random_size(300), random_size(300));
  p.batch = *rc::gen::inRange(1, 4);
  p.beta = *rc::gen::element(0.0f, 2.0f);
  const Variant v{.family = Family::kTiled,
                  .tile_m = *rc::gen::element(8, 16, 48, 64),
                  .tile_n = *rc::gen::element(8, 16, 32, 128),
                  .tile_k = *rc::gen::element(1, 8, 16),
                  .reg_m = *rc::gen::element(1, 2, 4, 8),
                  .reg_n = *rc::gen::element(1, 2, 4, 8)};
  const Traffic t = traffic(p, v);
  RC_ASSERT(t.cache_bytes == walk(p, v.tile_m, v.tile_n, v.tile_k).bytes());
  RC_ASSERT(t.register_bytes == walk(p, v.reg_m, v.reg_n, 1).bytes());
  RC_ASSERT(t.memory_bytes == minimum_bytes(p));
  RC_ASSERT(t.memory_bytes <= t.cache_bytes);
  RC_ASSERT(t.cache_bytes <= t.register_bytes);
}

// Each split reads its own steps of k. All partial sums are written, and the second kernel reads
// them.
RC_GTEST_PROP(Traffic, PartialSumsOfSplitKAreWrittenAndRead, ()) {
  Problem p = packed_problem(random_size(200), random_size(200), random_size(3000));
  p.batch = *rc::gen::inRange(1, 4);
  Variant v{.family = Family::kTiled,
            .tile_m = 16,
            .tile_n = 32,
            .tile_k = *rc::gen::element(8, 16),
            .reg_m = 4,
            .reg_n = 4};
  const double whole = traffic(p, v).cache_bytes;
  v.split_k = *rc::gen::element(2, 4, 16);
  const std::int64_t trip = v.tile_k;
  const std::int64_t depth = ((p.k + v.split_k - 1) / v.split_k + trip - 1) / trip * trip;
  const std::int64_t parts = (p.k + depth - 1) / depth;
  const double of_parts =
      parts > 1 ? 2.0 * 4 * static_cast<double>(parts * p.m * p.n * p.batch) : 0;
  RC_ASSERT(traffic(p, v).cache_bytes == whole + of_parts);
  RC_ASSERT(waves(p, v, 1).workgroups ==
            waves(p, {.tile_m = 16, .tile_n = 32}, 1).workgroups * static_cast<double>(parts));
}

TEST(Traffic, PackingReadsOperandsAndWritesPaddedPanels) {
  const DeviceRates rates = {.dispatch_ns = 100, .levels = {{.name = "memory", .gbps = 10}}};
  const Problem p = packed_problem(100, 30, 50);
  Variant v = parse_variant(
      "family=broadcast tile_m=16 tile_n=32 reg_m=16 reg_n=4 unroll_k=8 packed_a=yes");
  const double a = (100 * 50 + 112 * 56) * 4;
  EXPECT_DOUBLE_EQ(packing(p, v, rates).bytes, a);
  EXPECT_DOUBLE_EQ(packing(p, v, rates).ns, 100 + a / 10);
  v.packed_b = Packed::kYes;
  EXPECT_DOUBLE_EQ(packing(p, v, rates).bytes, a + (50 * 30 + 56 * 32) * 4);
  v.packed_a = v.packed_b = Packed::kNo;
  EXPECT_EQ(packing(p, v, rates).ns, 0);
}

TEST(Traffic, WholeBlocksFollowTheTextbook) {
  const Problem p = packed_problem(256, 512, 96);
  const Variant v{.family = Family::kTiled, .tile_m = 64, .tile_n = 128, .reg_m = 4, .reg_n = 8};
  const double mnk = 256.0 * 512 * 96, c = 256.0 * 512 * 4;
  EXPECT_DOUBLE_EQ(traffic(p, v).cache_bytes, mnk * (1.0 / 64 + 1.0 / 128) * 4 + c);
  EXPECT_DOUBLE_EQ(traffic(p, v).register_bytes, mnk * (1.0 / 4 + 1.0 / 8) * 4 + c);
}

}  // namespace
}  // namespace rooftile
