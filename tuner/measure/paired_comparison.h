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

/// One timing of one kernel.
struct PairTime {
  double kernel_ns = 0, pack_ns = 0;
  bool disturbed = false;  ///< Half of its samples or more stayed noisy (steady_samples.h).
  double usual_ns = 0;     ///< Total time in earlier measurements; 0: unknown.
  double total_ns() const { return kernel_ns + pack_ns; }
};

struct PairedComparison {
  PairedVerdict verdict = PairedVerdict::kUndecided;
  std::vector<PairTime> stored, challenger;  // one of each for every pair that counts

  std::size_t faster_pairs() const;  // in which the challenger's total time was shorter
};

// Of the verdict kFaster.
inline constexpr double kPairedConfidence = 0.97;

/// Confidence that the challenger is faster, from an unfinished comparison: 1 minus the probability
/// that an equally fast one wins at least as many of the pairs (one-sided sign test with one look).
/// No value without pairs.
std::optional<double> sign_confidence(std::size_t faster_pairs, std::size_t pairs);

/// Limits of a comparison: of the pairs that count; and of those with a disturbed time, which do
/// not, until there were so many.
inline constexpr std::size_t kMostPairs = 40, kMostDisturbedPairs = 12;
/// Pairs until the decision on a challenger that is faster in each of them.
inline constexpr std::size_t kFewestPairs = 8;

/// Measures pairs until they decide. After n pairs, of which the challenger won `lead` more than it
/// lost, it is faster if lead >= 6 + n / 4, and not faster if lead <= 3 n / 10 - 3 or n is
/// kMostPairs. This is a sequential sign test: of equally fast challengers 2.9 % are declared
/// faster, after 10.6 pairs on average; of those that win 80 % of the pairs 91 %, after 15.6 pairs.
/// Equal times count for the stored kernel. The order within a pair alternates, so that a drift
/// favours neither kernel. A pair in which both kernels are slowed (quiet_wait.h) does not count
/// either as long as wait() returns true. The callbacks return no value when the kernel could not
/// be measured; stop() is asked before each of them.
PairedComparison compare_in_pairs(
    const std::function<std::optional<PairTime>()>& time_stored,
    const std::function<std::optional<PairTime>()>& time_challenger,
    const std::function<bool()>& stop, const std::function<bool()>& wait = [] { return false; });

}  // namespace rooftile
