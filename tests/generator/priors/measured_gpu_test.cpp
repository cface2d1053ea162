// The model's order of kernels and the default kernel, against times of a GPU
// (tests/model/data/h200_kernels.csv).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/contests/rank_correlation.h"
#include "core/round.h"
#include "generator/priors/default_kernel.h"
#include "generator/space.h"
#include "runtime/model/gpu/gpu_generation.h"
#include "runtime/model/roofline.h"
#include "tests/generator/priors/chip_profiles.h"
#include "tests/model/csv.h"

namespace rooftile {
namespace {

/// NVK's profile of the same generation, with the units of the H200.
DeviceProfile h200() {
  DeviceProfile device = chip_profile("172");
  device.limits.compute_units = 132;
  return device;
}

/// Calibrated in the same run.
DeviceRates rates_of_h200() {
  static const GpuGeneration* const kGeneration = gpu_generation(h200());
  return {.dispatch_ns = 205,
          .workgroup_ns = 1.79,
          .synchronised_workgroup_ns = 1.69,
          .barrier_ns = 0.00055,
          .fma_gflops = 62878,
          .synchronised_fma_gflops = 64548,
          .fma_f16_gflops = 63814,
          .dot_gflops = 117474,
          .matrix_f16_gflops = 647986,
          .matrix_f16_f16_gflops = 643818,
          .matrix_bf16_gflops = 647069,
          .matrix_i8_gflops = 1289399,
          .matrix_u8_gflops = 1289358,
          .shared_gbps = 31680,
          .buffer_loads_per_ns = 3232,
          .buffer_vector_loads_per_ns = 1870,
          .texel_loads_per_ns = 2015,
          .texel_vector_loads_per_ns = 1010,
          .levels = {{.name = "cache", .gbps = 11934, .footprint_bytes = 33554432},
                     {.name = "memory", .gbps = 4256}},
          .buffer_stores_per_ns = 986,
          .buffer_vector_stores_per_ns = 246,
          .c_stores_per_ns = 560,
          .c_vector_stores_per_ns = 243,
          .broadcasts_per_ns = 1572,
          .load_latency_ns = 29.2,
          .compute_units = 132,
          .gpu = kGeneration};
}

struct TimedKernel {
  Variant variant;
  double ns;
};
struct TimedProblem {
  Problem problem;
  std::vector<TimedKernel> kernels = {};  // the fastest first

  double fastest_ns() const { return kernels.front().ns; }
};

/// Rows of operands begin at multiples of vectors, as the tuner stages them.
Problem problem_of(const CsvRow& row) {
  const auto size = [&](const char* name) { return static_cast<std::int64_t>(number(row, name)); };
  const auto transpose = [&](std::size_t operand) {
    return row.at("transposes").at(operand) == 't' ? Transpose::kYes : Transpose::kNo;
  };
  Problem p = packed_problem(size("m"), size("n"), size("k"), transpose(0), transpose(1), 1,
                             parse_types(row.at("type")));
  constexpr std::int64_t kVector = 4;
  p.lda = round_up(p.lda, kVector);
  if (!quantized(p.types)) p.ldb = round_up(p.ldb, kVector);
  p.ldc = round_up(p.ldc, kVector);
  return p;
}

std::map<std::string, TimedProblem> measured_problems() {
  std::map<std::string, TimedProblem> problems;
  for (const CsvRow& row : read_csv("h200_kernels.csv")) {
    const Problem p = problem_of(row);
    problems.try_emplace(to_string(p), TimedProblem{p})
        .first->second.kernels.push_back({parse_variant(row.at("kernel")), number(row, "ns")});
  }
  for (auto& [name, of] : problems) std::ranges::sort(of.kernels, {}, &TimedKernel::ns);
  return problems;
}

double predicted_ns(const TimedProblem& of, const Variant& v) {
  static const DeviceRates kRates = rates_of_h200();
  return analytical_ns(of.problem, v, kRates);
}

/// Geometric mean and largest of times over those of the fastest kernels.
struct Regrets {
  double log_sum = 0, worst = 1, count = 0;
  void add(double ratio) {
    log_sum += std::log(ratio);
    worst = std::max(worst, ratio);
    ++count;
  }
  double mean() const { return std::exp(log_sum / count); }
  void record() const {
    testing::Test::RecordProperty("mean", std::to_string(mean()));
    testing::Test::RecordProperty("worst", std::to_string(worst));
  }
};

// The model as it was until 2026-11-27, which gave each unit its full rate with any workgroup: mean
// 1.43, worst 5.27, correlation .11. Now: 1.03, 1.38, .68.
TEST(MeasuredGpu, TheModelsFirstKernelIsAboutAsFastAsTheFastest) {
  Regrets regrets;
  double correlations = 0;
  for (const auto& [name, of] : measured_problems()) {
    std::vector<double> predicted, measured;
    for (const TimedKernel& kernel : of.kernels) {
      predicted.push_back(predicted_ns(of, kernel.variant));
      measured.push_back(kernel.ns);
    }
    const auto first = std::ranges::min_element(predicted) - predicted.begin();
    regrets.add(measured[static_cast<std::size_t>(first)] / of.fastest_ns());
    correlations += rank_correlation(predicted, measured);
  }
  regrets.record();
  testing::Test::RecordProperty("correlation", std::to_string(correlations / regrets.count));
  EXPECT_GE(regrets.count, 20);
  EXPECT_LT(regrets.mean(), 1.15);
  EXPECT_LT(regrets.worst, 1.6);
  EXPECT_GT(correlations / regrets.count, 0.6);
}

TEST(MeasuredGpu, TheSearchTriesTheFastestKernels) {
  for (const auto& [name, of] : measured_problems())
    EXPECT_EQ(skip_reason(of.kernels.front().variant, h200(), signature_of(of.problem)),
              std::nullopt);
}

// Half of the times were wrong by a factor of 1.35 and more; now by 1.13.
TEST(MeasuredGpu, PredictedTimesAreThoseThatWereMeasured) {
  std::vector<double> errors;
  for (const auto& [name, of] : measured_problems())
    for (const TimedKernel& kernel : of.kernels)
      errors.push_back(std::abs(std::log(predicted_ns(of, kernel.variant) / kernel.ns)));
  std::ranges::sort(errors);
  RecordProperty("median", std::to_string(std::exp(errors[errors.size() / 2])));
  EXPECT_LT(errors[errors.size() / 2], std::log(1.25));
}

// The choice by tiles and units alone: mean 1.50, worst 7.03. Now: 1.03, 1.12, of which 13 of 21
// are measured.
TEST(MeasuredGpu, TheUntunedChoiceIsAboutAsFastAsTheFastest) {
  Regrets regrets;
  int measured = 0;
  for (const auto& [name, of] : measured_problems()) {
    const Variant v = default_kernel(h200(), of.problem);
    const auto timed = std::ranges::find(of.kernels, v, &TimedKernel::variant);
    if (timed != of.kernels.end()) {
      regrets.add(timed->ns / of.fastest_ns());
      ++measured;
    } else {  // Predicted; no kernel counts as faster than what was found.
      const double fastest = predicted_ns(of, of.kernels.front().variant);
      regrets.add(std::max(1.0, predicted_ns(of, v) / fastest));
    }
    EXPECT_LT(regrets.worst, 1.5) << name << ": " << short_name(v);
  }
  regrets.record();
  RecordProperty("measured", measured);
  EXPECT_GE(measured, 10);
  EXPECT_LT(regrets.mean(), 1.15);
}

}  // namespace
}  // namespace rooftile
