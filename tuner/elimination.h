// Successive elimination: few samples for all, more for those that may still be the best. Pure but
// for the callback.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace rooftile {

struct EliminationOptions {
  int samples_per_round = 3;
  int rounds = 4;
  std::size_t keep = 1;  // stop when this few are left
  // Samples of one round are neighbours in time: a clock that is low, or a program that takes half
  // the machine, hits them all. So an arm is dropped after this many rounds only, or when it is
  // beaten by more than that.
  int least_rounds = 3;
  double hopeless_ratio = 2;
};

struct Arm {
  std::vector<double> samples_ns;
  std::vector<int> rounds;  // of each sample
  bool alive = true;        // not eliminated
  bool failed = false;      // the callback gave nothing
};

/// measure(arm, count): that many more samples of the arm, or nothing when it cannot be measured
/// (it is out then). Arms are visited in turn, round by round, and what a round did to all of its
/// arms alike (drift, another clock) is taken out of the samples that come back. An arm is dropped
/// when its median's interval lies above the interval of the keep-th best median. stop() true ends
/// it early with what there is.
std::vector<Arm> eliminate(
    std::size_t arms,
    const std::function<std::optional<std::vector<double>>(std::size_t arm, int count)>& measure,
    const std::function<bool()>& stop, const EliminationOptions& options);

/// Arms with samples, best median first.
std::vector<std::size_t> ranking(const std::vector<Arm>& arms);

/// The same arms with every sample divided by its round's factor: Tukey's median polish of the
/// logarithms over arms and rounds, the median factor being 1.
std::vector<Arm> without_round_factors(std::vector<Arm> arms);

}  // namespace rooftile
