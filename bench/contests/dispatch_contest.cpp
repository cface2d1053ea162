#include "bench/contests/dispatch_contest.h"

#include <algorithm>

#include "core/clock.h"
#include "core/numbers/statistics.h"

namespace rooftile {
namespace {

constexpr double kSampleNs = 50e3;

/// Time of one call.
double take_sample(const Contestant& contestant, int calls) {
  const double start = now_ns();
  for (int call = 0; call < calls; ++call) contestant.call();
  return (now_ns() - start) / calls;
}

}  // namespace

GemmCall call_of(const Problem& p, const ProductOperands& operands, TierChoice choice) {
  return {.problem = p,
          .a = operands.a.data(),
          .b = operands.b.data(),
          .c = const_cast<char*>(operands.c.data()),
          .tier = choice};
}

double Contestant::ns() const { return median(sample_ns); }

double Contestant::half_ns(std::size_t first) const {
  std::vector<double> half;
  for (std::size_t i = first; i < sample_ns.size(); i += 2) half.push_back(sample_ns[i]);
  return median(half);
}

const Contestant* find_tier(const std::vector<const Contestant*>& contestants, Tier tier) {
  const auto found = std::ranges::find(contestants, tier, &Contestant::tier);
  return found == contestants.end() ? nullptr : *found;
}

void warm_up(std::vector<Contestant>& contestants) {
  for (Contestant& contestant : contestants) {
    take_sample(contestant, 1);  // Compiles the kernel.
    contestant.calls = std::max(1, static_cast<int>(kSampleNs / take_sample(contestant, 1)));
  }
}

void take_turns(std::vector<Contestant>& contestants, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (Contestant& contestant : contestants) {
      // The first call after another tier's is slower and is not timed.
      take_sample(contestant, contestant.calls);
      contestant.sample_ns.push_back(take_sample(contestant, contestant.calls));
    }
}

double regret_of(Tier tier, const std::vector<const Contestant*>& contestants) {
  const Contestant* const chosen = find_tier(contestants, tier);
  double regret = 0;
  for (const std::size_t half : {0, 1}) {
    const Contestant* const best = *std::ranges::min_element(
        contestants, {}, [&](const Contestant* contestant) { return contestant->half_ns(half); });
    regret += (chosen->half_ns(1 - half) / best->half_ns(1 - half) - 1) / 2;
  }
  return regret;
}

}  // namespace rooftile
