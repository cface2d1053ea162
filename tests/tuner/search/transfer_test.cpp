#include "tuner/search/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/model/roofline.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

std::vector<Variant> tiles() {
  std::vector<Variant> variants;
  for (const int m : {8, 16, 32, 64, 128})
    for (const int n : {8, 16, 32, 64, 128})
      variants.push_back({.family = Family::kRegister, .tile_m = m, .tile_n = n, .reg_m = 4});
  return variants;
}

/// Times with the fastest tile at the given size.
TransferSource source(const Problem& problem, int tile_m, int tile_n) {
  TransferSource result{.problem = problem};
  for (const Variant& v : tiles()) {
    if (v.tile_m == v.tile_n) continue;  // left out, to be predicted
    result.measured.push_back({v, 1e5 * std::exp2(std::abs(std::log2(v.tile_m / double(tile_m))) +
                                                  std::abs(std::log2(v.tile_n / double(tile_n))))});
  }
  return result;
}

std::size_t lowest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::ranges::min_element(values) - values.begin());
}

/// The analytical model has no rates here, and so makes no prediction.
SearchSpace uncalibrated(const Problem& problem) { return search_space(problem, {}, tiles()); }

TEST(TransferTest, WithoutDataTheGuessIsNan) {
  const SearchSpace space = uncalibrated(packed_problem(64, 64, 64));
  for (const double value : transferred(space, {})) EXPECT_TRUE(std::isnan(value));
  const TransferSource one{packed_problem(64, 64, 64), {{space.variants.front(), 1e3}}};
  for (const double value : transferred(space, {{one}})) EXPECT_TRUE(std::isnan(value));
}

TEST(TransferTest, TheBestKernelOfOtherDevicesIsTheBestGuess) {
  const std::vector<Variant> candidates = tiles();
  const std::vector<TransferSource> sources = {source(packed_problem(256, 256, 256), 64, 16)};
  const Variant& best =
      candidates[lowest(transferred(uncalibrated(packed_problem(300, 256, 256)), sources))];
  EXPECT_EQ(best.tile_m, 64);
  EXPECT_EQ(best.tile_n, 16);
}

TEST(TransferTest, NearProblemsCountMore) {
  const std::vector<Variant> candidates = tiles();
  const std::vector<TransferSource> sources = {source(packed_problem(4096, 4096, 64), 128, 8),
                                               source(packed_problem(64, 64, 64), 8, 32)};
  const Variant& best =
      candidates[lowest(transferred(uncalibrated(packed_problem(64, 80, 64)), sources))];
  EXPECT_EQ(best.tile_m, 8);
  EXPECT_EQ(best.tile_n, 32);
}

TEST(TransferTest, UnmeasuredCandidatesAreGuessedFromTheirNeighbours) {
  const std::vector<Variant> candidates = tiles();
  const std::vector<double> values = transferred(uncalibrated(packed_problem(256, 256, 256)),
                                                 {{source(packed_problem(256, 256, 256), 32, 32)}});
  const auto of = [&](int m, int n) {
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].tile_m == m && candidates[i].tile_n == n) return values[i];
    return std::nan("");
  };
  // 32 x 32 and 8 x 8 were not measured there: they are 0 and 4 octaves from the best.
  EXPECT_LT(of(32, 32), of(32, 16));
  EXPECT_GT(of(8, 8), of(8, 32));
}

// A source that measured no texel buffers, and whose kernels all agree with the model.
TEST(TransferTest, UnmeasuredCandidatesAreGuessedFromTheModel) {
  const Problem problem = packed_problem(256, 256, 256);
  const DeviceRates rates = {
      .fma_gflops = 1000, .buffer_loads_per_ns = 1, .texel_loads_per_ns = 4, .compute_units = 4};
  std::vector<Variant> variants;
  for (const int reg_m : {1, 2, 4, 8})
    for (const int reg_n : {1, 2, 4, 8})
      variants.push_back({.family = Family::kRegister,
                          .tile_m = 32,
                          .tile_n = 32,
                          .reg_m = reg_m,
                          .reg_n = reg_n});
  const std::size_t tried = variants.size();
  TransferSource source{.problem = problem};
  for (std::size_t i = 0; i < tried; ++i) {
    source.measured.push_back({variants[i], analytical_ns(problem, variants[i], rates)});
    variants.push_back(variants[i]);
    variants.back().load_path_a = variants.back().load_path_b = LoadPath::kTexel;
  }
  const SearchSpace space = search_space(problem, rates, variants);
  const std::vector<double> values = transferred(space, {{source}});
  for (std::size_t i = 0; i < tried; ++i) {
    ASSERT_LT(space.analytical_ns[tried + i], space.analytical_ns[i]) << i;
    EXPECT_LT(values[tried + i], values[i]) << i;
  }
}

TEST(TransferTest, OtherDevicesAreSourcesNearestFirst) {
  const ScratchFolder folder;
  Store store(folder / "rooftile.db");
  const auto device = [&](const std::string& uuid, std::uint32_t product) {
    return store.device_id({.device_uuid = uuid, .vendor_id = 1, .device_id = product});
  };
  const RowId here = device("aa", 2), far = device("bb", 3), near = device("cc", 2);
  const auto measure = [&](RowId on, const Problem& problem, int tile_m, double ns) {
    const Variant variant = {.family = Family::kRegister, .tile_m = tile_m, .reg_m = 4};
    const RowId candidate =
        store.candidate_id({.hash = std::to_string(tile_m), .variant = variant});
    store.add_sample({.run = store.begin_run(on, "1", "{}"),
                      .candidate = candidate,
                      .problem = store.problem_id(problem),
                      .kernel = {.median_ns = ns, .count = 3}});
  };
  const Problem problem = packed_problem(64, 64, 64), larger = packed_problem(128, 64, 64);
  measure(here, problem, 8, 1);
  measure(far, problem, 16, 100);
  measure(near, larger, 32, 300);
  measure(near, larger, 64, 200);
  measure(near, problem, 32, 400);
  const std::vector<TransferSource> sources = sources_of_others(store, here, problem);
  ASSERT_EQ(sources.size(), 3u);
  for (const TransferSource& source : sources) EXPECT_LT(source.nearness, 1);
  EXPECT_EQ(sources[0].problem, problem);
  EXPECT_EQ(sources[0].measured.front().ns, 400);
  EXPECT_EQ(sources[1].problem, larger);
  ASSERT_EQ(sources[1].measured.size(), 2u);
  EXPECT_EQ(sources[1].measured.front().variant.tile_m, 64) << "the fastest kernel comes first";
  EXPECT_EQ(sources[2].measured.front().ns, 100);
}

}  // namespace
}  // namespace rooftile
