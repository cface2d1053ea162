// Choice of a few kernels that cover a class of problems, and the cost of choosing among them by
// prediction. Pure functions of measured times and calibrated rates.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/measured_time.h"
#include "core/problem.h"
#include "runtime/model/calibration.h"
#include "runtime/model/selector.h"

namespace rooftile {

/// Times of kernels on the problems on which each was measured. A value that is no time (not
/// positive, NaN) means that the kernel was not measured there.
struct TimeTable {
  std::vector<MeasuredTime> problems;   ///< ns is that of the fastest kernel.
  std::vector<std::vector<double>> ns;  ///< Indexed by [kernel][problem].
  /// Same for each half of the measurements; kernels without halves have ns twice.
  std::vector<std::vector<std::array<double, 2>>> half_ns;
};
TimeTable complete_table(std::span<const MeasuredKernel> kernels);

/// Greedy set cover: takes one kernel after the other, each the one that lowers the expected regret
/// most, until there are `most` kernels or nothing is left to gain. The regret is the mean over
/// problems of (fastest taken kernel / fastest kernel) - 1. Returns the kernels in the order taken.
std::vector<std::size_t> choose_portfolio(const TimeTable& table, std::size_t most);

/// Returns the kernel with the shortest analytical time among those that are legal for the
/// problem's signature, with which the tuner begins a portfolio where nothing like it has been
/// searched. On a GPU (rates.gpu) it surely fits the registers. No value: none is legal.
std::optional<Variant> predicted_for_portfolio(std::span<const Variant> space,
                                               const DeviceLimits& limits, const Problem& p,
                                               const DeviceRates& rates);

/// Fewest problems from which a median's 95 % interval, and a worst decile, can be estimated.
inline constexpr std::size_t kLeastForMedian = 6, kLeastForDecile = 10;

/// Times of chosen kernels over the fastest ones, minus 1: 0.02 is 2 %. A value may be below 0
/// where kernels differ by noise alone.
struct Regret {
  std::size_t problems = 0;
  double median = 0;
  /// 95 % interval of the median over problems, from order statistics (core/numbers/statistics.h).
  double median_low = 0, median_high = 0;
  /// worst_decile: one problem in ten has at least this regret.
  double mean = 0, worst_decile = 0, worst = 0;

  bool has_median() const { return problems >= kLeastForMedian; }
  bool has_decile() const { return problems >= kLeastForDecile; }
};
Regret summarize_regret(std::vector<double> regrets);

/// Regrets of problems by leave-one-out cross-validation: each problem in turn is left out with all
/// of its times, and portfolio and predictions come from the others. `nearest` is the regret of the
/// best kernel of the nearest other problem, by size_distance.
///
/// One half of the measurements selects the fastest kernel, the other half times it and the chosen
/// one; the result is the mean of both ways. Kernels that differ by noise alone therefore cause no
/// regret on average, and a single regret may be negative. Empty with fewer than two problems,
/// because no other problem is left to choose from.
struct CrossValidation {
  std::vector<double> selector, nearest;
};
/// `rivals` are kernels that may not be chosen but may have been faster.
CrossValidation cross_validate(const Problem& of_class, const DeviceRates& rates,
                               std::span<const MeasuredKernel> kernels,
                               std::span<const MeasuredKernel> rivals = {});

}  // namespace rooftile
