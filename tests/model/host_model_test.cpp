// The host's predictions on frozen measurements: calibrated on host_calibration_problems(), judged
// on problems that are not part of the calibration.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/numbers/statistics.h"
#include "runtime/model/dispatch.h"
#include "tests/model/csv.h"

namespace rooftile {
namespace {

constexpr char kFile[] = "host_gemm_xeon_2_cores.csv";

struct Measured {
  Problem problem;
  double threads_ns, single_ns;
};

std::vector<Measured> measured(const std::string& set) {
  std::vector<Measured> result;
  for (const CsvRow& row : read_csv(kFile))
    if (row.at("set") == set)
      result.push_back({packed_problem(std::stoll(row.at("m")), std::stoll(row.at("n")),
                                       std::stoll(row.at("k"))),
                        number(row, "threads_ns"), number(row, "single_ns")});
  return result;
}

HostRates rates(const std::vector<Measured>& points, double Measured::*ns) {
  HostRates r{.call_ns = points.front().*ns, .gbps = 0};
  for (const Measured& point : points) {
    const Problem& p = point.problem;
    r.call_ns = std::min(r.call_ns, point.*ns);
    (p.m == 1 || p.n == 1 ? r.gemv : r.gemm)
        .push_back({.m = static_cast<double>(p.m),
                    .n = static_cast<double>(p.n),
                    .k = static_cast<double>(p.k),
                    .gflops = flops(p) / point.*ns});
  }
  return r;
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values.at(static_cast<std::size_t>(share * static_cast<double>(values.size())));
}

/// Relative error: max(predicted, measured) / min(predicted, measured) - 1.
double error(double predicted, double actual) {
  return std::max(predicted / actual, actual / predicted) - 1;
}

TEST(HostModel, TheFrozenGridIsThatOfTheCalibration) {
  std::vector<Problem> problems;
  for (const Measured& m : measured("grid")) problems.push_back(m.problem);
  EXPECT_EQ(problems, host_calibration_problems());
}

TEST(HostModel, PredictsUnseenProblems) {
  const std::vector<Measured> grid = measured("grid"), unseen = measured("random");
  ASSERT_GE(unseen.size(), 300u);
  for (double Measured::*tier : {&Measured::threads_ns, &Measured::single_ns}) {
    const HostModel model(rates(grid, tier));
    std::vector<double> errors, ratios;
    for (const Measured& m : unseen) {
      errors.push_back(error(model.predict_ns(m.problem), m.*tier));
      ratios.push_back(model.predict_ns(m.problem) / m.*tier);
    }
    EXPECT_LT(median(errors), 0.15);
    EXPECT_LT(quantile(errors, 0.9), 0.55);
    // The predictions favour neither tier on average.
    EXPECT_NEAR(geometric_mean(ratios), 1, 0.05);
  }
}

TEST(HostModel, LeavesOneOut) {
  const std::vector<Measured> grid = measured("grid");
  std::vector<double> errors;
  for (std::size_t i = 0; i < grid.size(); i += 8) {
    std::vector<Measured> rest = grid;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    errors.push_back(
        error(HostModel(rates(rest, &Measured::threads_ns)).predict_ns(grid[i].problem),
              grid[i].threads_ns));
  }
  EXPECT_LT(median(errors), 0.25);
}

/// Time of the chosen tier over that of the faster tier, on problems outside of the grid.
std::vector<double> regrets_of_choosing(const std::vector<Measured>& grid) {
  // Without a device, only the host's two tiers remain to choose from.
  const DispatchModel model({.device = {},
                             .host = rates(grid, &Measured::threads_ns),
                             .host1 = rates(grid, &Measured::single_ns),
                             .host64 = {}},
                            DeviceKind::kOther, {});
  std::vector<double> regrets;
  for (const char* set : {"random", "named"})
    for (const Measured& m : measured(set)) {
      const Decision d = decide({.problem = m.problem}, model);
      const double chosen = d.tier == Tier::kHost1 ? m.single_ns : m.threads_ns;
      regrets.push_back(chosen / std::min(m.threads_ns, m.single_ns));
    }
  return regrets;
}

TEST(HostModel, ChoosingBetweenOneAndAllThreadsCostsLittle) {
  const std::vector<double> regrets = regrets_of_choosing(measured("grid"));
  EXPECT_LE(geometric_mean(regrets), 1.015);
  EXPECT_LE(quantile(regrets, 0.9), 1.03);
}

// A slowdown of all threads during the calibration, as hypervisors and other programs cause it.
TEST(HostModel, DisturbedRatesChangePredictionsLittle) {
  std::vector<Measured> grid = measured("grid");
  for (std::size_t i = 0; i < grid.size(); i += 10) grid[i].threads_ns *= 3;
  const std::vector<double> regrets = regrets_of_choosing(grid);
  EXPECT_LE(geometric_mean(regrets), 1.025);
  EXPECT_LE(quantile(regrets, 0.9), 1.05);
}

TEST(HostModel, MeasuredSizesTakeTheMeasuredTime) {
  const std::vector<Measured> grid = measured("grid");
  for (double Measured::*tier : {&Measured::threads_ns, &Measured::single_ns}) {
    const HostModel model(rates(grid, tier));
    for (const Measured& m : grid)
      EXPECT_NEAR(model.predict_ns(m.problem), m.*tier, 1e-9 * m.*tier) << to_string(m.problem);
  }
}

TEST(HostModel, PredictingTiersTogetherEqualsPredictingEachAlone) {
  const std::vector<Measured> grid = measured("grid");
  // The third tier lacks the last 40 points of the grid.
  const std::vector<HostRates> tiers = {
      rates(grid, &Measured::threads_ns), rates(grid, &Measured::single_ns),
      rates({grid.begin(), grid.end() - 40}, &Measured::threads_ns), HostRates{}};
  // Rounding error: the system's condition number is below 295 points times 3 times 42 octaves,
  // 4e4.
  constexpr double kSame = 1e-6;
  const std::vector<HostModel> models = HostModel::of_tiers(tiers);
  ASSERT_EQ(models.size(), tiers.size());
  for (std::size_t i = 0; i + 1 < tiers.size(); ++i) {
    const HostModel alone(tiers[i]);
    for (const Measured& m : measured("random")) {
      const double ns = alone.predict_ns(m.problem);
      EXPECT_NEAR(models[i].predict_ns(m.problem), ns, kSame * ns) << i;
    }
  }
  EXPECT_FALSE(models.back().calibrated());
}

TEST(HostModel, NothingIsFasterThanTheSmallestCall) {
  const HostModel model({.call_ns = 300, .gbps = 10, .gemm = {{64, 64, 64, 100}}});
  EXPECT_EQ(model.predict_ns(packed_problem(1, 2, 3)), 300);
}

TEST(HostModel, PastTheLargestMeasuredProblemBandwidthBounds) {
  const HostModel model({.call_ns = 300, .gbps = 10, .gemm = {{1, 64, 64, 100}}});
  const Problem large = packed_problem(1, 6000, 5000);
  EXPECT_DOUBLE_EQ(model.predict_ns(large), minimum_bytes(large) / 10);
}

// BLAS runs one routine for x^T * B and A * x, with its matrix transposed or not.
TEST(HostModel, ProductsOfOneRowOrColumnAreThoseOfTheSameMatrix) {
  constexpr auto kNo = Transpose::kNo, kYes = Transpose::kYes;
  const HostModel model(
      {.call_ns = 1,
       .gemm = {{64, 64, 64, 100}},
       .gemv = {{1, 64, 32, 2}, {1, 128, 32, 2}, {64, 1, 32, 8}, {128, 1, 32, 8}}});
  const auto gflops = [&](std::int64_t m, std::int64_t n, Transpose trans_a, Transpose trans_b) {
    const Problem p = packed_problem(m, n, 32, trans_a, trans_b);
    return flops(p) / model.predict_ns(p);
  };
  for (const std::int64_t size : {64, 128}) {  // Both are measured.
    for (const Transpose of_vector : {kNo, kYes}) {
      EXPECT_DOUBLE_EQ(gflops(1, size, of_vector, kNo), 2);
      EXPECT_DOUBLE_EQ(gflops(size, 1, kYes, of_vector), 2);
      EXPECT_DOUBLE_EQ(gflops(size, 1, kNo, of_vector), 8);
      EXPECT_DOUBLE_EQ(gflops(1, size, of_vector, kYes), 8);
    }
  }
  EXPECT_DOUBLE_EQ(gflops(1, 90, kNo, kYes), gflops(90, 1, kNo, kNo));
  EXPECT_DOUBLE_EQ(gflops(90, 1, kYes, kNo), gflops(1, 90, kNo, kNo));
  EXPECT_GT(gflops(1, 90, kNo, kYes), gflops(1, 90, kNo, kNo));
  // Two rows are a general product.
  EXPECT_DOUBLE_EQ(gflops(2, 90, kNo, kNo), 100);
}

TEST(HostModel, OlderCalibrationsPredictOneRowAsAGeneralProduct) {
  const HostModel model({.call_ns = 1, .gemm = {{1, 64, 64, 3}, {64, 64, 64, 3}}});
  const Problem p = packed_problem(1, 80, 64);
  EXPECT_DOUBLE_EQ(model.predict_ns(p), flops(p) / 3);
}

TEST(HostModel, BatchesAreSeparateCalls) {
  const HostModel model({.call_ns = 300, .gbps = 10, .gemm = {{64, 64, 64, 100}}});
  const Problem one = packed_problem(40, 50, 60);
  Problem many = one;
  many.batch = 7;
  EXPECT_DOUBLE_EQ(model.predict_ns(many), 7 * model.predict_ns(one));
}

TEST(HostModel, Float64TakesLongerButForTheCallAndIsNotWidened) {
  const HostModel model({.call_ns = 300, .gbps = 100, .gemm = {{64, 64, 64, 100}}});
  const Problem single = packed_problem(64, 64, 64), wide = retyped(single, parse_types("f64"));
  EXPECT_DOUBLE_EQ(model.predict_ns(wide) - 300, 1.8 * (model.predict_ns(single) - 300));
  const Problem small = packed_problem(2, 3, 4);
  EXPECT_DOUBLE_EQ(model.predict_ns(retyped(small, parse_types("f64"))), 300);
}

TEST(HostModel, ThinProductsAreWidenedWithoutACopyInMemory) {
  const HostModel model(
      {.call_ns = 100, .gbps = 20, .gemm = {{64, 64, 64, 20}, {512, 512, 512, 40}}});
  const auto extra_ns = [&](std::int64_t m, std::int64_t batch) {
    Problem p = packed_problem(m, 4096, 1024, Transpose::kNo, Transpose::kNo, batch);
    const double plain_ns = model.predict_ns(p);
    p.types.a = DataType::kF16;
    return model.predict_ns(p) - plain_ns;
  };
  const auto bytes = [](std::int64_t m, double each) {
    return each * static_cast<double>(m * 1024 + 4096 * 1024) + 4.0 * static_cast<double>(m * 4096);
  };
  EXPECT_NEAR(extra_ns(128, 1), bytes(128, 2) / 20, 1);
  EXPECT_NEAR(extra_ns(129, 1), (bytes(129, 2) + bytes(129, 4)) / 20, 1);
  EXPECT_NEAR(extra_ns(128, 2), 2 * (bytes(128, 2) + bytes(128, 4)) / 20, 1);
}

TEST(HostModel, UncalibratedIsInfinitelySlow) {
  EXPECT_FALSE(HostModel().calibrated());
  EXPECT_EQ(HostModel(HostRates{.call_ns = 3, .gbps = 4}).predict_ns(packed_problem(4, 5, 6)),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace rooftile
