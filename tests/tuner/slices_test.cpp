#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generator/space.h"
#include "tuner/time_shares.h"

namespace rooftile {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

std::vector<TuneProblem> problems(std::initializer_list<std::int64_t> sizes) {
  std::vector<TuneProblem> list;
  for (const std::int64_t size : sizes)
    list.push_back({.problem = packed_problem(size, size, size)});
  return list;
}

const DeviceRates& calibrated() {
  static const DeviceRates rates = [] {
    DeviceRates some;
    some.submit_ns = 1e4;
    some.fma_gflops = 50;
    some.levels = {{.name = "memory", .gbps = 10}};
    return some;
  }();
  return rates;
}

TEST(Slices, SumToTheRemainingTime) {
  const auto weights =
      slice_weights(problems({2048, 64, 512, 100}), fallback_variant(), calibrated());
  ASSERT_THAT(weights, SizeIs(4));
  double left_s = 90;
  for (std::size_t i = 0; i < weights.size(); ++i) left_s -= slice_s(weights, i, left_s);
  EXPECT_NEAR(left_s, 0, 1e-9);
}

TEST(Slices, AProductAHundredTimesAsLongGetsTenTimesTheTime) {
  // Long enough that compilation time is negligible.
  std::vector<TuneProblem> list = problems({4096, 4096});
  list[1].problem.batch = 100;
  list[1].problem.stride_a = list[1].problem.stride_b = list[1].problem.stride_c = 4096 * 4096;
  const auto weights = slice_weights(list, fallback_variant(), calibrated());
  EXPECT_NEAR(weights[1] / weights[0], 10, 0.1);
}

TEST(Slices, TinyProblemsGetTheirCompileTime) {
  const auto weights = slice_weights(problems({8, 16, 24}), fallback_variant(), calibrated());
  EXPECT_NEAR(weights[0], weights[2], 0.01 * weights[0]);
}

TEST(Slices, WithoutRatesAllAreEqual) {
  EXPECT_THAT(slice_weights(problems({2048, 64, 512}), fallback_variant(), {}),
              Each(slice_weights(problems({1}), fallback_variant(), {}).front()));
}

}  // namespace
}  // namespace rooftile
