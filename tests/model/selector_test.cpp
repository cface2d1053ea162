#include "runtime/model/selector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/numbers/halton.h"
#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

DeviceRates selector_device() {
  return {.submit_ns = 20e3,
          .dispatch_ns = 3000,
          .workgroup_ns = 100,
          .fma_gflops = 1000,
          .levels = {{.name = "memory", .gbps = 100}},
          .compute_units = 8};
}

Variant tile(int tile_m, int tile_n) {
  Variant v;
  v.family = Family::kRegister;
  v.tile_m = tile_m;
  v.tile_n = tile_n;
  v.reg_m = v.reg_n = 4;
  return v;
}

/// A kernel's true time: whole tiles in waves, a rate that differs from the calibrated one for
/// each kernel, and a cost per workgroup.
double true_ns(const Variant& v, const MeasuredTime& p) {
  const double workgroups = std::ceil(static_cast<double>(p.m) / v.tile_m) *
                            std::ceil(static_cast<double>(p.n) / v.tile_n);
  const double gflops = v.tile_m * v.tile_n >= 4096 ? 700 : 250;
  const double step_ns = 2.0 * v.tile_m * v.tile_n * selector_device().compute_units / gflops;
  return 5000 + 200 * workgroups +
         std::ceil(workgroups / selector_device().compute_units) * step_ns *
             static_cast<double>(p.k);
}

MeasuredTime scattered(std::size_t i) {
  const auto size = [&](std::size_t base) {
    return std::llround(std::pow(4096, radical_inverse(i, base)));
  };
  return {.m = size(2), .n = size(3), .k = size(5), .batch = 1};
}

MeasuredKernel measured(const Variant& v, std::size_t problems) {
  MeasuredKernel kernel{.variant = v};
  for (std::size_t i = 1; i <= problems; ++i) {
    MeasuredTime t = scattered(i);
    t.ns = true_ns(v, t);
    kernel.times.push_back(t);
  }
  return kernel;
}

Problem problem_of(const MeasuredTime& t) { return packed_problem(t.m, t.n, t.k); }

TEST(Selector, ChoosesTheBestKernelOfUnseenProblems) {
  const std::vector<Variant> variants = {tile(64, 64), tile(16, 16), tile(4, 128), tile(128, 4)};
  std::vector<MeasuredKernel> kernels;
  for (const Variant& v : variants) kernels.push_back(measured(v, 40));
  const Selector selector({}, selector_device(), kernels);
  double regret = 0;
  constexpr std::size_t kUnseen = 200;
  for (std::size_t i = 1000; i < 1000 + kUnseen; ++i) {
    const Selector::Times predicted = selector.predict_ns(problem_of(scattered(i)));
    const auto chosen =
        static_cast<std::size_t>(std::ranges::min_element(predicted) - predicted.begin());
    double best = kNoTime;
    for (const Variant& v : variants) best = std::min(best, true_ns(v, scattered(i)));
    regret += (true_ns(variants[chosen], scattered(i)) / best - 1) / kUnseen;
  }
  EXPECT_LT(regret, 0.02);
}

TEST(Selector, PredictsTimesOfUnseenProblems) {
  const Selector selector({}, selector_device(), std::vector{measured(tile(64, 64), 40)});
  std::vector<double> errors;
  for (std::size_t i = 1000; i < 1100; ++i)
    errors.push_back(std::abs(std::log(selector.predict_ns(problem_of(scattered(i)))[0] /
                                       true_ns(tile(64, 64), scattered(i)))));
  std::ranges::sort(errors);
  EXPECT_LT(errors[50], 0.05);
  EXPECT_LT(errors[90], 0.2);
}

// No sum of terms is slow for few and for many rows, and faster between.
TEST(Selector, ResidualsOfTheTermsAreInterpolated) {
  const auto true_of_rows_ns = [](const MeasuredTime& t) {
    const double octaves = std::log2(static_cast<double>(t.m)) - 6;
    return true_ns(tile(64, 64), t) * std::exp(octaves * octaves / 18);
  };
  MeasuredKernel kernel = measured(tile(64, 64), 60);
  for (MeasuredTime& t : kernel.times) t.ns = true_of_rows_ns(t);
  const Selector selector({}, selector_device(), std::vector{kernel});
  std::vector<double> errors;
  for (std::size_t i = 1000; i < 1100; ++i)
    errors.push_back(std::abs(std::log(selector.predict_ns(problem_of(scattered(i)))[0] /
                                       true_of_rows_ns(scattered(i)))));
  std::ranges::sort(errors);
  EXPECT_LT(errors[50], 0.25);
}

TEST(Selector, OneTimeScalesTheCalibratedRates) {
  const Problem here = packed_problem(1024, 1024, 1024), there = packed_problem(600, 1500, 700);
  const Selector knows_nothing({}, selector_device(),
                               std::vector{MeasuredKernel{tile(64, 64), {}}});
  MeasuredTime at = {.m = 1024, .n = 1024, .k = 1024, .batch = 1};
  at.ns = 3 * knows_nothing.predict_ns(here)[0];
  const Selector knows_one({}, selector_device(), std::vector{MeasuredKernel{tile(64, 64), {at}}});
  EXPECT_NEAR(knows_one.predict_ns(here)[0] / at.ns, 1, 0.15);
  EXPECT_NEAR(knows_one.predict_ns(there)[0] / knows_nothing.predict_ns(there)[0], 3, 0.5);
}

TEST(Selector, AKernelWithoutTimesIsTakenToBeLikeTheOthers) {
  const MeasuredKernel fast = measured(tile(64, 64), 30);
  MeasuredKernel slow = fast;
  for (MeasuredTime& t : slow.times) t.ns *= 10;
  const auto other_beside = [&](const MeasuredKernel& known) {
    const MeasuredKernel unknown = {.variant = tile(32, 32)};
    return Selector({}, selector_device(), std::vector{known, unknown})
        .predict_ns(packed_problem(500, 700, 300))[1];
  };
  EXPECT_GT(other_beside(slow), 5 * other_beside(fast));
}

TEST(Selector, InvalidTimesAreIgnored) {
  const MeasuredKernel clean = measured(tile(64, 64), 20);
  MeasuredKernel dirty = clean;
  for (const double ns : {0.0, -1.0, kNoTime, std::numeric_limits<double>::quiet_NaN()})
    dirty.times.push_back({.m = 77, .n = 88, .k = 99, .batch = 1, .ns = ns});
  const Selector expected({}, selector_device(), std::vector{clean}),
      got({}, selector_device(), std::vector{dirty});
  for (std::size_t i = 500; i < 520; ++i)
    EXPECT_EQ(got.predict_ns(problem_of(scattered(i))),
              expected.predict_ns(problem_of(scattered(i))));
}

TEST(Selector, EveryPredictionIsPositiveAndFinite) {
  std::vector<MeasuredKernel> kernels = {measured(tile(64, 64), 3), {.variant = tile(8, 8)}};
  kernels[1].variant.packed_a = kernels[1].variant.packed_b = Packed::kYes;
  kernels[1].variant.split_k = 4;
  for (const DeviceRates& rates : {selector_device(), DeviceRates{}}) {
    const Selector selector({}, rates, kernels);
    for (const Problem& p :
         {packed_problem(1, 1, 0), packed_problem(1, 1, 1), packed_problem(1, 1 << 20, 1 << 20),
          packed_problem(7, 5, 3, Transpose::kNo, Transpose::kNo, 1 << 20)})
      for (std::size_t i = 0; i < selector.size(); ++i) {
        EXPECT_GT(selector.predict_ns(p)[i], 0) << to_string(p);
        EXPECT_TRUE(std::isfinite(selector.predict_ns(p)[i])) << to_string(p);
      }
  }
}

TEST(Selector, HoldsNoMoreKernelsThanItsLimit) {
  const std::vector<MeasuredKernel> many(20, measured(tile(64, 64), 2));
  EXPECT_EQ(Selector({}, selector_device(), many).size(), Selector::kMostKernels);
  EXPECT_EQ(Selector().size(), 0u);
  EXPECT_EQ(Selector().predict_ns(packed_problem(1, 2, 3))[0], kNoTime);
}

TEST(Selector, PackingIsASharePerOperandOfWhatIsPredicted) {
  Variant b = tile(16, 16), both = b;
  b.packed_b = both.packed_a = both.packed_b = Packed::kYes;
  const std::vector<MeasuredKernel> kernels = {measured(tile(16, 16), 20), measured(b, 20),
                                               measured(both, 20)};
  const Selector selector({}, selector_device(), kernels);
  // With few rows, B is nearly all of the packed data.
  for (const std::int64_t m : {1, 64, 4096}) {
    const Problem p = packed_problem(m, 512, 512);
    const Selector::Times predicted = selector.predict_ns(p);
    const Selector::Packing packing = selector.packing_ns(p, predicted);
    EXPECT_EQ(packing.a_ns[0], 0);
    EXPECT_EQ(packing.b_ns[0], 0);
    EXPECT_EQ(packing.a_ns[1], 0);
    EXPECT_GT(packing.b_ns[1], 0);
    EXPECT_LT(packing.b_ns[1], predicted[1]);
    EXPECT_LT(packing.a_ns[2] + packing.b_ns[2], predicted[2]);
    EXPECT_EQ(packing.a_ns[2] < packing.b_ns[2], m < 512);
  }
}

}  // namespace
}  // namespace rooftile
