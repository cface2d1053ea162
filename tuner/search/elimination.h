// Successive elimination: few samples for all arms, more for those that may still be the best. Has
// no side effects besides the callback.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace rooftile {

struct EliminationOptions {
  int samples_per_round = 3;
  int rounds = 4;
  std::size_t keep = 1;  ///< Stops when this many arms are left.
};

struct Arm {
  std::vector<double> samples_ns;
  std::vector<int> rounds;  ///< Round of each sample.
  bool alive = true;        ///< Not eliminated.
  bool failed = false;      ///< The callback returned no samples.
};

/// Samples arms in turn, round by round. measure(arm, count) returns that many more samples of the
/// arm, or no value when it cannot be measured, which eliminates it. An arm is dropped when its
/// median's interval lies above the interval of the keep-th best median, after three rounds at
/// least unless it takes more than twice that median. Effects of a round on all of its arms alike
/// (drift, another clock) are removed from the returned samples. If stop() returns true, the
/// function returns what there is.
std::vector<Arm> eliminate(
    std::size_t arms,
    const std::function<std::optional<std::vector<double>>(std::size_t arm, int count)>& measure,
    const std::function<bool()>& stop, const EliminationOptions& options);

/// Returns the arms with samples, best median first.
std::vector<std::size_t> ranking(const std::vector<Arm>& arms);

/// Returns the arms with every sample divided by its round's factor: Tukey's median polish of the
/// logarithms over arms and rounds, with a median factor of 1.
std::vector<Arm> without_round_factors(std::vector<Arm> arms);

}  // namespace rooftile
