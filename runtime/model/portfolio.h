// Which few kernels cover a class of problems, and what choosing among them by prediction costs.
// Pure functions of measured times.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/measured_time.h"
#include "core/problem.h"
#include "runtime/model/calibration.h"
#include "runtime/model/selector.h"

namespace rooftile {

/// Times of kernels on the problems that each of them was tried on; what is no time (not positive,
/// NaN) was not tried.
struct TimeTable {
  std::vector<MeasuredTime> problems;                       // ns: of the fastest kernel
  std::vector<std::vector<double>> ns;                      // [kernel][problem]
  std::vector<std::vector<std::array<double, 2>>> half_ns;  // the same; of those without, ns twice
};
TimeTable complete_table(std::span<const MeasuredKernel> kernels);

/// Greedy set cover: kernels are taken one after the other, each the one that lowers the expected
/// regret most, the mean over problems of (fastest taken kernel / fastest kernel) - 1, until there
/// are `most` or nothing is left to gain. In the order taken.
std::vector<std::size_t> choose_portfolio(const TimeTable& table, std::size_t most);

/// Fewest problems from which a median's 95 % interval, and a worst decile, can be estimated.
inline constexpr std::size_t kLeastForMedian = 6, kLeastForDecile = 10;

/// Times of chosen kernels over the fastest ones, minus 1: 0.02 is 2 %. A figure may be below 0
/// where kernels differ by noise alone.
struct Regret {
  std::size_t problems = 0;
  double median = 0;
  // 95 % interval of the median over problems, from order statistics (core/statistics.h).
  double median_low = 0, median_high = 0;
  double mean = 0, worst_decile = 0, worst = 0;  // worst_decile: one in ten is at least this

  bool has_median() const { return problems >= kLeastForMedian; }
  bool has_decile() const { return problems >= kLeastForDecile; }
};
Regret summarize_regret(std::vector<double> regrets);

/// Regrets of problems, none of which had a part in its own choice: each in turn is left out, with
/// all of its times; portfolio and predictions come from the others. nearest: had it been the best
/// kernel of the nearest other problem, by size_distance. The fastest kernel is named by one half
/// of the measurements and timed, like the chosen one, by the other; the mean of both ways. So of
/// kernels that differ by noise alone none is charged for it, and one problem's regret may be
/// negative. Empty with fewer than two problems: nothing would be left to choose from.
struct CrossValidation {
  std::vector<double> selector, nearest;
};
/// rivals: kernels that may not be chosen, but may have been faster.
CrossValidation cross_validate(const Problem& of_class, const DeviceRates& rates,
                               std::span<const MeasuredKernel> kernels,
                               std::span<const MeasuredKernel> rivals = {});

}  // namespace rooftile
