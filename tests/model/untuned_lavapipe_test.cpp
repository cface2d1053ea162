// Judges the selector on measured times of a real device (bench/results/lavapipe-untuned.csv),
// with each problem left out in turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/model/portfolio.h"
#include "runtime/model/predict.h"
#include "tests/model/csv.h"

namespace rooftile {
namespace {

/// Calibrated rates at the time of the measurements.
DeviceRates lavapipe() {
  return {.dispatch_ns = 28400,
          .workgroup_ns = 82,
          .barrier_ns = 4.7,
          .fma_gflops = 182,
          .shared_gbps = 14.7,
          .buffer_loads_per_ns = 1.2,
          .buffer_vector_loads_per_ns = 0.69,
          .texel_loads_per_ns = 3.45,
          .texel_vector_loads_per_ns = 2.52,
          .levels = {{.name = "memory", .gbps = 19.8}},
          .compute_units = 2};
}

// Limits for the selector's regret; bench/results/lavapipe.md has the measured values.
constexpr double kMostMean = 0.05, kMostWorstDecile = 0.17;

struct MeasuredClass {
  Problem of_class;
  std::vector<MeasuredKernel> kernels = {};
};

std::vector<MeasuredClass> measured_classes() {
  std::vector<MeasuredClass> classes = {{packed_problem(1, 1, 1)},
                                        {packed_problem(1, 1, 1, Transpose::kNo, Transpose::kYes)}};
  for (MeasuredClass& of_class : classes)
    for (const CsvRow& row : read_csv("../../../bench/results/lavapipe-untuned-kernels.csv"))
      of_class.kernels.push_back({parse_variant(row.at("kernel")), {}});
  for (const CsvRow& row : read_csv("../../../bench/results/lavapipe-untuned.csv")) {
    MeasuredClass& of_class = classes[row.at("class") == "f32.nt" ? 1 : 0];
    const auto size = [&](const char* column) {
      return static_cast<std::int64_t>(number(row, column));
    };
    of_class.kernels.at(static_cast<std::size_t>(size("kernel")))
        .times.push_back({.m = size("m"),
                          .n = size("n"),
                          .k = size("k"),
                          .batch = size("batch"),
                          .ns = number(row, "ns")});
  }
  return classes;
}

TEST(UntunedLavapipe, TheSelectorBeatsTheNearestProblemsKernel) {
  for (const MeasuredClass& c : measured_classes()) {
    const CrossValidation validation = cross_validate(c.of_class, lavapipe(), c.kernels);
    const Regret selector = summarize_regret(validation.selector),
                 nearest = summarize_regret(validation.nearest);
    EXPECT_GE(selector.problems, 30u);
    EXPECT_LT(selector.mean, kMostMean);
    EXPECT_LT(selector.worst_decile, kMostWorstDecile);
    EXPECT_LT(selector.mean, 0.5 * nearest.mean);
  }
}

// Both predict the time of the kernel that the selector chooses.
TEST(UntunedLavapipe, TheSelectorPredictsTimesBetterThanTheSurface) {
  for (const MeasuredClass& c : measured_classes()) {
    const TimeTable table = complete_table(c.kernels);
    std::vector<double> selector_errors, surface_errors;
    for (std::size_t left_out = 0; left_out < table.problems.size(); ++left_out) {
      std::vector<MeasuredKernel> others = c.kernels;
      std::vector<TunedTime> tuned;
      for (MeasuredKernel& kernel : others)
        std::erase_if(kernel.times,
                      [&](const auto& t) { return same_sizes(t, table.problems[left_out]); });
      const auto problem = [&](std::size_t i) {
        const MeasuredTime& t = table.problems[i];
        return packed_problem(t.m, t.n, t.k, c.of_class.trans_a, c.of_class.trans_b, t.batch);
      };
      for (std::size_t i = 0; i < table.problems.size(); ++i) {
        if (i == left_out) continue;
        std::size_t best = 0;
        while (table.ns[best][i] != table.problems[i].ns) ++best;
        tuned.push_back({.problem = problem(i),
                         .ns = table.problems[i].ns,
                         .tile_m = others[best].variant.tile_m,
                         .tile_n = others[best].variant.tile_n});
      }
      const Selector::Times predicted =
          Selector(c.of_class, lavapipe(), others).predict_ns(problem(left_out));
      const auto chosen =
          static_cast<std::size_t>(std::ranges::min_element(predicted) - predicted.begin());
      const double ns = table.ns[chosen][left_out];
      selector_errors.push_back(std::abs(std::log(predicted[chosen] / ns)));
      surface_errors.push_back(
          std::abs(std::log(TunedModel(lavapipe(), tuned).predict_ns(problem(left_out)) / ns)));
    }
    std::ranges::sort(selector_errors);
    std::ranges::sort(surface_errors);
    EXPECT_LT(selector_errors[selector_errors.size() / 2],
              0.8 * surface_errors[surface_errors.size() / 2]);
    EXPECT_LT(selector_errors[selector_errors.size() * 9 / 10],
              0.8 * surface_errors[surface_errors.size() * 9 / 10]);
  }
}

}  // namespace
}  // namespace rooftile
