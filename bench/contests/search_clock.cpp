#include "bench/contests/search_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "bench/contests/program.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "generator/compiler_work.h"
#include "tuner/measure/cut_limit.h"
#include "tuner/search.h"
#include "tuner/search/candidate_queue.h"
#include "tuner/search/strategy_choice.h"

namespace rooftile {
namespace {

constexpr std::array kSeconds = {0.25, 0.5, 1.0, 2.0, 4.0, 8.0};
// Share of its compilation that a kernel takes again where the driver's cache has it; measured on
// lavapipe 22.3 with 40 kernels, 2026-11-23.
constexpr double kAgain = 0.1;

const std::vector<ClockedSearch>& searches() {
  static const std::vector<ClockedSearch> all = {
      {.label = "strategy's order", .families_first = false},
      {.label = "as tuned"},
      {.label = "as tuned, 2 compile ahead", .compilers = 2},
      {.label = "as tuned, 4 compile ahead", .compilers = 4},
  };
  return all;
}

/// First candidates as the tuner has them.
CandidateQueue queue_of(const Replay& replay, const ClockedSearch& how) {
  if (!how.families_first) return {};
  const std::vector<double>& ns = replay.space.analytical_ns;
  const FirstCandidates first{
      .untuned = static_cast<std::size_t>(std::ranges::min_element(ns) - ns.begin()),
      .known = {},
      .families = family_firsts(replay.space.variants, ns, std::vector<bool>(ns.size(), false)),
      .winners = {},
      .priors = replay.space.starts};
  return CandidateQueue(first_candidates(first, ns));
}

double geometric_mean_of(const std::vector<std::vector<double>>& of_replays, std::size_t at) {
  double sum = 0;
  for (const std::vector<double>& shares : of_replays) sum += std::log(std::max(shares[at], 0.01));
  return std::exp(sum / static_cast<double>(of_replays.size()));
}

std::vector<double> shares_by_seconds(const Replay& replay, const ClockedSearch& how,
                                      std::uint64_t seed) {
  const ClockedTrace search = clocked_search(replay, how, seed, kSeconds.back());
  const std::vector<double> by_count = shares(replay, search.trace, seed, search.trace.size());
  std::vector<double> result;
  for (const double seconds : kSeconds) {
    const auto count = std::ranges::upper_bound(search.end_s, seconds) - search.end_s.begin();
    result.push_back(count == 0 ? 0 : by_count[static_cast<std::size_t>(count) - 1]);
  }
  return result;
}

std::string percentages(const std::vector<double>& shares) {
  std::string line;
  for (const double share : shares) line += fmt::format(" {:6.1f} %", 100 * share);
  return line;
}

}  // namespace

double sampling_s(const Replay& replay, std::size_t candidate, double best_ns) {
  constexpr int kCalls = 1 + kSearchRounds * (1 + kSearchSamples);
  const double ns = std::min(replay.true_ns[candidate], cut_limit_ns(best_ns));
  return std::isfinite(ns) ? kCalls * ns * 1e-9 : 0;
}

double compilation_s(const Replay& replay, const std::vector<std::size_t>& batch,
                     std::size_t compilers) {
  std::vector<double> seconds;
  double again_s = 0;
  for (const std::size_t index : batch) {
    seconds.push_back(replay.frozen.points[index].compile_ns * 1e-9);
    again_s += (compilers == 0 ? 0 : kAgain) * seconds.back();
  }
  // The longest one goes to the worker that is free first.
  std::ranges::sort(seconds, std::ranges::greater());
  std::vector<double> workers(std::max<std::size_t>(compilers, 1), 0.0);
  for (const double one : seconds) *std::ranges::min_element(workers) += one;
  return *std::ranges::max_element(workers) + again_s;
}

ClockedTrace clocked_search(const Replay& replay, const ClockedSearch& how, std::uint64_t seed,
                            double seconds) {
  const auto strategy = make_strategy("auto", replay.space, seed);
  CandidateQueue queue = queue_of(replay, how);
  std::vector<bool> taken(replay.space.variants.size());
  const Signature signature = signature_of(replay.frozen.problem);
  Random noise(noise_seed(seed));
  ClockedTrace result;
  double now_s = 0, best_ns = std::numeric_limits<double>::infinity();
  while (now_s < seconds) {
    const std::vector<std::size_t> batch = queue.take(
        kSearchBatch,
        {.propose = [&](std::size_t count) { return strategy->propose(result.trace, count); },
         .wanted = [&](std::size_t index) { return !taken[index]; },
         .work =
             [&](std::size_t index) {
               return how.families_first ? compiler_work(replay.space.variants[index], signature)
                                         : 0;
             }});
    if (batch.empty()) break;
    for (const std::size_t index : batch) taken[index] = true;
    if (how.compilers > 0) now_s += compilation_s(replay, batch, how.compilers);
    for (const std::size_t index : batch) {
      if (how.compilers == 0) now_s += compilation_s(replay, {index}, 0);
      now_s += sampling_s(replay, index, best_ns);
      result.trace.push_back({index, measured_ns(replay, index, noise)});
      result.end_s.push_back(now_s);
      best_ns = std::min(best_ns, result.trace.back().ns);
    }
  }
  return result;
}

void compare_by_clock(const std::vector<Replay>& replays, std::size_t seeds,
                      const std::string& csv) {
  CsvFile file(csv, "space,search,seconds,median");
  std::string times;
  for (const double seconds : kSeconds) times += fmt::format(" {:>6} s", seconds);
  std::vector<std::vector<std::vector<double>>> all(searches().size());  // By search and replay.
  for (const Replay& replay : replays) {
    fmt::print("{:<38}{}\n", replay.name, times);
    for (std::size_t s = 0; s < searches().size(); ++s) {
      const ClockedSearch& how = searches()[s];
      std::vector<std::vector<double>> of_times(kSeconds.size());
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const std::vector<double> shares = shares_by_seconds(replay, how, seed);
        for (std::size_t t = 0; t < kSeconds.size(); ++t) of_times[t].push_back(shares[t]);
      }
      std::vector<double> middles;
      for (std::size_t t = 0; t < kSeconds.size(); ++t) {
        middles.push_back(median(of_times[t]));
        file.add(fmt::format("{},\"{}\",{},{:.4f}", replay.name, how.label, kSeconds[t],
                             middles.back()));
      }
      fmt::print("  {:<36}{}\n", how.label, percentages(middles));
      all[s].push_back(std::move(middles));
    }
    std::fflush(stdout);
  }
  fmt::print("all {} spaces: geometric mean of the medians, nothing counting as 1 %\n",
             replays.size());
  for (std::size_t s = 0; s < searches().size(); ++s) {
    std::vector<double> means;
    for (std::size_t t = 0; t < kSeconds.size(); ++t) means.push_back(geometric_mean_of(all[s], t));
    fmt::print("  {:<36}{}\n", searches()[s].label, percentages(means));
  }
}

}  // namespace rooftile
