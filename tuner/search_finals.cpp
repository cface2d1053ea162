#include "tuner/search_finals.h"

#include <algorithm>
#include <functional>
#include <span>

#include "tuner/search/elimination.h"

namespace rooftile {
namespace {

// Where everything is measured, many are finalists.
constexpr std::size_t kExhaustiveFinalists = 128;
constexpr int kExhaustiveRounds = 10, kExhaustiveSamples = 4;

// No candidate is eliminated, because every candidate's time is wanted.
void time_all_again(Search& search, const std::function<bool()>& over) {
  std::vector<std::size_t> order = search.ranked();
  order.resize(std::min(order.size(), kExhaustiveFinalists));
  for (int round = 0; round < kExhaustiveRounds; ++round)
    for (const std::size_t index : order) {
      if (over()) return;
      search.measure(index, kExhaustiveSamples);
    }
}

/// The fastest candidates, the default, and winners of the nearest other problems: a candidate that
/// was measured while the machine was slowed may be the fastest all the same.
std::vector<std::size_t> finalists(const Search& search) {
  const std::vector<std::size_t> ranked = search.ranked();
  std::vector<std::size_t> order(
      ranked.begin(),
      ranked.begin() + static_cast<std::ptrdiff_t>(std::min(ranked.size(), kFinalists)));
  const auto add = [&](std::size_t candidate) {
    const bool measured = std::ranges::find(ranked, candidate) != ranked.end();
    if (!measured || std::ranges::find(order, candidate) != order.end()) return false;
    order.push_back(candidate);
    return true;
  };
  add(search.default_candidate());
  std::size_t added = 0;
  for (const std::size_t winner : search.winners_elsewhere())
    if (added < kWinnersElsewhere && add(winner)) ++added;
  return order;
}

}  // namespace

void try_suspects(Search& search, const std::function<bool()>& over) {
  search.aim_at(Objective::kCall);
  constexpr int kSamples = 2;
  CandidateRunner& runner = search.context().runner;
  for (const CandidateRecord& suspect : runner.suspects()) {
    if (over()) return;
    const auto index = search.index_of(suspect.variant);
    if (!index || suspect.signature != to_string(search.signature())) continue;
    runner.release(suspect.id);
    search.measure(*index, kSamples);
    // The certification may have caused the earlier death.
    runner.certified(suspect.variant, search.signature());
  }
}

void run_finals(Search& search, Objective objective, QuietWait& wait,
                const std::function<bool()>& over) {
  search.aim_at(objective);
  if (search.is_exhaustive()) {
    // The samples for the other objective serve both.
    if (objective == Objective::kCall) time_all_again(search, over);
    return;
  }
  const std::vector<std::size_t> order = finalists(search);
  if (order.size() < 2) return;
  std::vector<std::vector<double>> kernel_share(order.size());  // Of each sample.
  const std::vector<Arm> arms = eliminate(
      order.size(),
      [&](std::size_t arm, int samples) {
        const auto totals = search.measure(order[arm], samples, [&](double discarded_s) {
          return !over() && wait.wait(discarded_s);
        });
        if (!totals) return totals;
        const auto kernels =
            std::span(search.samples_of(search.candidates()[order[arm]])).last(totals->size());
        for (std::size_t i = 0; i < totals->size(); ++i)
          kernel_share[arm].push_back(kernels[i] / (*totals)[i]);
        return totals;
      },
      over,
      {.samples_per_round = search.round_samples(kFinalSamples),
       .rounds = kFinalRounds,
       .keep = 1});
  // The new samples replace the old ones only when all finalists were timed side by side.
  if (std::ranges::any_of(arms, [](const Arm& arm) { return arm.samples_ns.empty(); })) return;
  // The arms' samples are free of the effects of whole rounds.
  std::vector<std::vector<double>> samples;
  for (std::size_t arm = 0; arm < order.size(); ++arm) {
    samples.push_back(arms[arm].samples_ns);
    std::ranges::transform(samples[arm], kernel_share[arm], samples[arm].begin(),
                           std::multiplies());
  }
  search.set_finalists(order, std::move(samples));
}

}  // namespace rooftile
