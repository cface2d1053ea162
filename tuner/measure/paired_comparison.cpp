#include "tuner/measure/paired_comparison.h"

#include <cmath>

#include "tuner/measure/quiet_wait.h"

namespace rooftile {
namespace {

PairedVerdict verdict_of(std::size_t pairs, int lead) {
  const auto n = static_cast<int>(pairs);
  if (4 * lead >= 24 + n) return PairedVerdict::kFaster;
  if (10 * lead <= 3 * n - 30 || pairs == kMostPairs) return PairedVerdict::kNotFaster;
  return PairedVerdict::kUndecided;
}

}  // namespace

std::size_t PairedComparison::faster_pairs() const {
  std::size_t faster = 0;
  for (std::size_t i = 0; i < stored.size(); ++i)
    faster += challenger[i].total_ns() < stored[i].total_ns();
  return faster;
}

std::optional<double> sign_confidence(std::size_t faster_pairs, std::size_t pairs) {
  if (pairs == 0) return std::nullopt;
  double fewer = 0;                                         // Probability of fewer wins.
  double term = std::pow(0.5, static_cast<double>(pairs));  // Of exactly i wins.
  for (std::size_t i = 0; i < faster_pairs; ++i) {
    fewer += term;
    term *= static_cast<double>(pairs - i) / static_cast<double>(i + 1);
  }
  return fewer;
}

PairedComparison compare_in_pairs(const std::function<std::optional<PairTime>()>& time_stored,
                                  const std::function<std::optional<PairTime>()>& time_challenger,
                                  const std::function<bool()>& stop,
                                  const std::function<bool()>& wait) {
  PairedComparison comparison;
  const auto timed = [&](const std::function<std::optional<PairTime>()>& time) {
    return stop() ? std::nullopt : time();
  };
  int lead = 0;
  std::size_t disturbed = 0, slowed = 0;
  const auto is_slow = [](const PairTime& time) {
    return is_slowed(time.total_ns(), time.usual_ns);
  };
  while (comparison.verdict == PairedVerdict::kUndecided) {
    const std::size_t before = comparison.stored.size();
    std::optional<PairTime> stored, challenger;
    if ((before + disturbed + slowed) % 2 == 0) {
      stored = timed(time_stored);
      if (stored) challenger = timed(time_challenger);
    } else {
      challenger = timed(time_challenger);
      if (challenger) stored = timed(time_stored);
    }
    if (!stored || !challenger) break;
    if (is_slow(*stored) && is_slow(*challenger) && wait()) {
      ++slowed;
      continue;
    }
    if ((stored->disturbed || challenger->disturbed) && disturbed < kMostDisturbedPairs) {
      ++disturbed;
      continue;
    }
    comparison.stored.push_back(*stored);
    comparison.challenger.push_back(*challenger);
    lead += challenger->total_ns() < stored->total_ns() ? 1 : -1;
    comparison.verdict = verdict_of(before + 1, lead);
  }
  return comparison;
}

}  // namespace rooftile
