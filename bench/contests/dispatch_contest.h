// Tiers that compute one product in turns, and what it costs to choose one of them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/dispatch/context.h"

namespace rooftile {

/// Float32 in host memory, as the problem lays them out.
struct ProductOperands {
  std::vector<char> a, b, c;
};
/// C is written, whatever const says.
GemmCall call_of(const Problem& p, const ProductOperands& operands,
                 TierChoice choice = TierChoice::kAuto);

/// One tier on one problem.
struct Contestant {
  const Context* context;  // that could choose it
  Tier tier;
  std::function<void()> call;
  int calls = 1;  // in a sample
  std::vector<double> sample_ns = {};

  double ns() const;
  /// Of every second sample, from the first or from the second one on.
  double half_ns(std::size_t first) const;
};

/// Nothing: there is no such tier among them.
const Contestant* find_tier(const std::vector<const Contestant*>& contestants, Tier tier);

/// Lets each compile, and finds how many of its calls make a sample: the clock costs some 50 ns.
void warm_up(std::vector<Contestant>& contestants);

/// A sample of each a round; before_round is called in front of each.
void take_turns(std::vector<Contestant>& contestants, int rounds,
                const std::function<void()>& before_round);

/// A tier's time over that of the best of contestants, less 1. Which is the best one half of the
/// samples say and the other half how long it takes, in turns: the shortest of several noisy
/// medians is shorter than any tier is. The tier is among them.
double regret_of(Tier tier, const std::vector<const Contestant*>& contestants);

}  // namespace rooftile
