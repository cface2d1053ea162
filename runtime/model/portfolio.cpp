#include "runtime/model/portfolio.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/numbers/statistics.h"
#include "generator/rules.h"
#include "runtime/model/gpu/registers.h"
#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Ratio to the fastest kernel that counts for a kernel that cannot run a problem, and for a
// portfolio without such a kernel.
constexpr double kWorstRatio = 8;
// Least gain of mean regret. A smaller gain is noise, and every further kernel may be chosen by
// mistake.
constexpr double kLeastGain = 0.002;

const MeasuredTime* time_on(const MeasuredKernel& kernel, const MeasuredTime& sizes) {
  const auto found =
      std::ranges::find_if(kernel.times, [&](const auto& t) { return same_sizes(t, sizes); });
  return found == kernel.times.end() || !(found->ns > 0) ? nullptr : &*found;
}

double ratio(double ns, double best_ns) { return std::min(ns / best_ns, kWorstRatio); }

Problem with_sizes(const Problem& of_class, const MeasuredTime& t) {
  return packed_problem(t.m, t.n, t.k, of_class.trans_a, of_class.trans_b, t.batch, of_class.types);
}

/// Returns all times except those on one problem.
std::vector<MeasuredKernel> without(std::span<const MeasuredKernel> kernels,
                                    const MeasuredTime& sizes) {
  std::vector<MeasuredKernel> others(kernels.begin(), kernels.end());
  for (MeasuredKernel& kernel : others)
    std::erase_if(kernel.times, [&](const auto& t) { return same_sizes(t, sizes); });
  return others;
}

/// Returns the chosen kernel among those that can run the left-out problem; any other kernel if the
/// portfolio has none.
std::size_t chosen(const Problem& of_class, const DeviceRates& rates,
                   std::span<const MeasuredKernel> others, const TimeTable& table,
                   std::size_t left_out) {
  const std::vector<std::size_t> taken =
      choose_portfolio(complete_table(others), Selector::kMostKernels);
  std::vector<MeasuredKernel> portfolio;
  for (const std::size_t kernel : taken) portfolio.push_back(others[kernel]);
  const Selector::Times predicted = Selector(of_class, rates, portfolio)
                                        .predict_ns(with_sizes(of_class, table.problems[left_out]));
  const auto legal = [&](std::size_t kernel) { return std::isfinite(table.ns[kernel][left_out]); };
  std::size_t best = 0;
  while (best + 1 < others.size() && !legal(best)) ++best;
  double best_ns = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (legal(taken[i]) && predicted[i] < best_ns) {
      best = taken[i];
      best_ns = predicted[i];
    }
  return best;
}

double regret(const TimeTable& table, std::size_t kernel, std::size_t problem) {
  double sum = 0;
  for (const std::size_t half : {0u, 1u}) {
    const auto fastest = std::ranges::min_element(
        table.half_ns, {}, [&](const auto& of_kernel) { return of_kernel[problem][half]; });
    sum += ratio(table.half_ns[kernel][problem][1 - half], (*fastest)[problem][1 - half]) - 1;
  }
  return sum / 2;
}

std::size_t best_of_nearest(const Problem& of_class, std::size_t kernels, const TimeTable& table,
                            std::size_t left_out) {
  std::size_t nearest = left_out == 0 ? 1 : 0;
  double least = std::numeric_limits<double>::infinity();
  const Problem here = with_sizes(of_class, table.problems[left_out]);
  for (std::size_t i = 0; i < table.problems.size(); ++i) {
    const double distance = size_distance(here, with_sizes(of_class, table.problems[i]));
    if (i != left_out && distance < least) {
      nearest = i;
      least = distance;
    }
  }
  std::size_t best = 0;
  double best_ns = std::numeric_limits<double>::infinity();
  for (std::size_t kernel = 0; kernel < kernels; ++kernel)
    if (std::isfinite(table.ns[kernel][left_out]) && table.ns[kernel][nearest] < best_ns) {
      best = kernel;
      best_ns = table.ns[kernel][nearest];
    }
  return best;
}

}  // namespace

TimeTable complete_table(std::span<const MeasuredKernel> kernels) {
  TimeTable table;
  table.ns.resize(kernels.size());
  table.half_ns.resize(kernels.size());
  if (kernels.empty()) return table;
  for (const MeasuredTime& sizes : kernels.front().times) {
    std::vector<const MeasuredTime*> times;
    for (const MeasuredKernel& kernel : kernels) times.push_back(time_on(kernel, sizes));
    if (std::ranges::find(times, nullptr) != times.end()) continue;
    MeasuredTime problem = sizes;
    problem.ns = std::ranges::min(times, {}, &MeasuredTime::ns)->ns;
    if (!std::isfinite(problem.ns)) continue;
    table.problems.push_back(problem);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      table.ns[i].push_back(times[i]->ns);
      table.half_ns[i].push_back(
          times[i]->half_ns.value_or(std::array{times[i]->ns, times[i]->ns}));
    }
  }
  return table;
}

// Relative regret, not time: a millisecond that a small problem loses counts as much as a second of
// a large one. On the times of bench/results/lavapipe-untuned.csv, each problem left out in turn,
// total time and squared regret gave a lower mean and worst decile for one class (2.6 % and 12 %
// instead of 3.0 % and 13 %), and higher ones for the other (7.7 % and 29 % instead of 6.6 % and
// 22 %); the mean logarithm, and the worst problem beside the mean, chose the same kernels.
std::vector<std::size_t> choose_portfolio(const TimeTable& table, std::size_t most) {
  std::vector<std::size_t> taken;
  const std::size_t problems = table.problems.size();
  std::vector<double> covered(problems, kWorstRatio);
  while (taken.size() < std::min(most, table.ns.size())) {
    std::size_t best = 0;
    double best_gain = 0;
    for (std::size_t kernel = 0; kernel < table.ns.size(); ++kernel) {
      double gain = 0;
      for (std::size_t i = 0; i < problems; ++i)
        gain += std::max(0.0, covered[i] - ratio(table.ns[kernel][i], table.problems[i].ns));
      if (gain > best_gain) {
        best = kernel;
        best_gain = gain;
      }
    }
    if (!(best_gain > kLeastGain * static_cast<double>(problems))) break;
    taken.push_back(best);
    for (std::size_t i = 0; i < problems; ++i)
      covered[i] = std::min(covered[i], ratio(table.ns[best][i], table.problems[i].ns));
  }
  return taken;
}

std::optional<Variant> predicted_for_portfolio(std::span<const Variant> space,
                                               const DeviceLimits& limits, const Problem& p,
                                               const DeviceRates& rates) {
  const Signature signature = signature_of(p);
  const Variant* best = nullptr;
  double best_ns = std::numeric_limits<double>::infinity();
  for (const Variant& v : space) {
    if (rates.gpu != nullptr && !surely_fits_registers(v, p.types, *rates.gpu)) continue;
    const double ns = analytical_ns(p, v, rates);
    if (ns < best_ns && !illegal_reason(v, limits, signature)) {
      best = &v;
      best_ns = ns;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

Regret summarize_regret(std::vector<double> regrets) {
  if (regrets.empty()) return {};
  std::ranges::sort(regrets, std::greater{});
  const Interval interval = median_interval(regrets);
  Regret summary = {.problems = regrets.size(),
                    .median = median(regrets),
                    .median_low = interval.low,
                    .median_high = interval.high,
                    // Nearest rank: the worst of ten problems.
                    .worst_decile = regrets[(regrets.size() - 1) / 10],
                    .worst = regrets.front()};
  for (const double regret : regrets) summary.mean += regret / static_cast<double>(regrets.size());
  return summary;
}

CrossValidation cross_validate(const Problem& of_class, const DeviceRates& rates,
                               std::span<const MeasuredKernel> kernels,
                               std::span<const MeasuredKernel> rivals) {
  std::vector<MeasuredKernel> all(kernels.begin(), kernels.end());
  all.insert(all.end(), rivals.begin(), rivals.end());
  const TimeTable table = complete_table(all);
  if (table.problems.size() < 2) return {};  // No other problem is left to choose from.
  CrossValidation validation;
  for (std::size_t i = 0; i < table.problems.size(); ++i) {
    const std::vector<MeasuredKernel> others = without(kernels, table.problems[i]);
    validation.selector.push_back(regret(table, chosen(of_class, rates, others, table, i), i));
    validation.nearest.push_back(
        regret(table, best_of_nearest(of_class, kernels.size(), table, i), i));
  }
  return validation;
}

}  // namespace rooftile
