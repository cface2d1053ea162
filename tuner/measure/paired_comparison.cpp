#include "tuner/measure/paired_comparison.h"

namespace rooftile {

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
