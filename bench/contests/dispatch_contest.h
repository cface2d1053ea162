// Times tiers on one GEMM in turn, and computes the cost of choosing one of them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/dispatch/context.h"

namespace rooftile {

/// Float32 operands in host memory, in the problem's layout.
struct ProductOperands {
  std::vector<char> a, b, c;
};
/// C is written although the method is const.
GemmCall call_of(const Problem& p, const ProductOperands& operands,
                 TierChoice choice = TierChoice::kAuto);

/// One tier on one problem.
struct Contestant {
  const Context* context;  // Context that may choose the tier.
  Tier tier;
  std::function<void()> call;
  int calls = 1;  // Number of calls in a sample.
  std::vector<double> sample_ns = {};

  double ns() const;
  /// Median of every second sample, from the first or from the second on.
  double half_ns(std::size_t first) const;
};

/// Returns null when the tier is not among the contestants.
const Contestant* find_tier(const std::vector<const Contestant*>& contestants, Tier tier);

/// Compiles each contestant's kernel, and determines the number of calls in a sample, because
/// reading the clock takes about 50 ns.
void warm_up(std::vector<Contestant>& contestants);

/// Takes one sample of each contestant in every round.
void take_turns(std::vector<Contestant>& contestants, int rounds);

/// A tier's time over that of the best contestant, minus 1. One half of the samples determines the
/// best contestant and the other half its time, and vice versa, because the minimum of several
/// noisy medians underestimates. The tier is among the contestants.
double regret_of(Tier tier, const std::vector<const Contestant*>& contestants);

}  // namespace rooftile
