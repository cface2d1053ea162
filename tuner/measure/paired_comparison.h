// Whether one kernel is faster than another, from pairs of times that are measured one right after
// the other. Pure but for the callbacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace rooftile {

enum class PairedVerdict : std::uint8_t {
  kFaster,     // the challenger is faster, with a confidence of 97 %
  kNotFaster,  // the pairs do not show that
  kUndecided,  // a time is missing, or stop() turned true, before there were enough pairs
};

struct PairedComparison {
  PairedVerdict verdict = PairedVerdict::kUndecided;
  std::vector<double> stored_ns, challenger_ns;  // one of each for every complete pair

  std::size_t faster_pairs() const;  // in which the challenger was faster
};

// Of the verdict kFaster.
inline constexpr double kPairedConfidence = 0.97;

/// Confidence that the challenger is faster, from an unfinished comparison: 1 minus the probability
/// that an equally fast one wins at least as many of the pairs (one-sided sign test with one look).
/// No value without pairs.
std::optional<double> sign_confidence(std::size_t faster_pairs, std::size_t pairs);

inline constexpr int kFirstPairs = 6, kMostPairs = 12, kMostLosses = 2;

/// Measures pairs and ends as soon as they decide. The challenger is faster if it is faster in each
/// of the first kFirstPairs pairs, or in all but kMostLosses of kMostPairs (a sign test with two
/// looks: a kernel that is equally fast passes it in 3 % of all comparisons). Equal times count for
/// the stored kernel. The order within a pair alternates, so that a drift favours neither kernel.
/// The callbacks return ns, or nothing when the kernel could not be measured; stop() is asked
/// before each of them.
PairedComparison compare_in_pairs(const std::function<std::optional<double>()>& time_stored,
                                  const std::function<std::optional<double>()>& time_challenger,
                                  const std::function<bool()>& stop);

}  // namespace rooftile
