#include "tuner/measure/paired_comparison.h"

#include <cmath>

namespace rooftile {

std::size_t PairedComparison::faster_pairs() const {
  std::size_t faster = 0;
  for (std::size_t i = 0; i < stored_ns.size(); ++i) faster += challenger_ns[i] < stored_ns[i];
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

PairedComparison compare_in_pairs(const std::function<std::optional<double>()>& time_stored,
                                  const std::function<std::optional<double>()>& time_challenger,
                                  const std::function<bool()>& stop) {
  PairedComparison comparison;
  const auto timed = [&](const std::function<std::optional<double>()>& time) {
    return stop() ? std::nullopt : time();
  };
  int losses = 0;
  for (int pair = 0; pair < kMostPairs; ++pair) {
    std::optional<double> stored, challenger;
    if (pair % 2 == 0) {
      stored = timed(time_stored);
      if (stored) challenger = timed(time_challenger);
    } else {
      challenger = timed(time_challenger);
      if (challenger) stored = timed(time_stored);
    }
    if (!stored || !challenger) return comparison;
    comparison.stored_ns.push_back(*stored);
    comparison.challenger_ns.push_back(*challenger);
    if (*challenger >= *stored) ++losses;
    if (losses > kMostLosses) {
      comparison.verdict = PairedVerdict::kNotFaster;
      return comparison;
    }
    if (losses == 0 && pair + 1 == kFirstPairs) break;
  }
  comparison.verdict = PairedVerdict::kFaster;
  return comparison;
}

}  // namespace rooftile
