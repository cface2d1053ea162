#include "tuner/schedule.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace rooftile {
namespace {

constexpr double kLeastCostS = 1e-3;  // A batch takes at least some requests to the worker.

std::optional<TuneStep> first_look(std::span<const StepOffer> offers, double left_s) {
  std::optional<std::size_t> first;
  std::size_t open = 0;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (offers[i].stage != TuneStage::kFirstLook) continue;
    ++open;
    const auto rank = [](const StepOffer& offer) {
      return std::pair(offer.waits, !offer.undecided);
    };
    if (!first || rank(offers[i]) < rank(offers[*first])) first = i;
  }
  if (!first) return std::nullopt;
  return TuneStep{.problem = *first,
                  .stage = TuneStage::kFirstLook,
                  .seconds = left_s / static_cast<double>(open)};
}

double unfinished_s(std::span<const StepOffer> offers) {
  double sum_s = 0;
  for (const StepOffer& offer : offers)
    if (offer.stage != TuneStage::kDone) sum_s += offer.finish_s;
  return sum_s;
}

/// Part of left_s for the problem's kFinish. Where the time covers all of them, it is shared in
/// proportion to finish_s. Otherwise each gets what it needs but at most a part that is the same
/// for all of one weight, so that the longest do not starve the others.
double finish_share_s(std::span<const StepOffer> offers, std::size_t problem, double left_s) {
  std::vector<const StepOffer*> open;
  for (const StepOffer& offer : offers)
    if (offer.stage != TuneStage::kDone) open.push_back(&offer);
  const double sum_s = unfinished_s(offers);
  const StepOffer& own = offers[problem];
  if (sum_s <= 0) return left_s / static_cast<double>(open.size());
  if (sum_s <= left_s) return left_s * own.finish_s / sum_s;
  const auto per_weight = [](const StepOffer* offer) { return offer->finish_s / offer->weight; };
  std::ranges::sort(open, {}, per_weight);
  double weights = 0;
  for (const StepOffer* offer : open) weights += offer->weight;
  for (const StepOffer* offer : open) {
    if (per_weight(offer) >= left_s / weights) break;
    left_s -= offer->finish_s;
    weights -= offer->weight;
  }
  return std::min(own.finish_s, left_s / weights * own.weight);
}

TuneStep finish(std::span<const StepOffer> offers, std::size_t problem, double left_s) {
  return {.problem = problem,
          .stage = TuneStage::kFinish,
          .seconds = finish_share_s(offers, problem, left_s)};
}

/// Whether the problem's search got less than kLeastShare of its part of all search time, even with
/// its next batch.
bool starves(std::span<const StepOffer> offers, std::size_t problem) {
  double weights = 0, searched_s = 0;
  for (const StepOffer& offer : offers) {
    searched_s += offer.searched_s;
    if (offer.stage == TuneStage::kSearch) weights += offer.weight;
  }
  const StepOffer& offer = offers[problem];
  return offer.searched_s + offer.cost_s < kLeastShare * searched_s * offer.weight / weights;
}

std::optional<TuneStep> search(std::span<const StepOffer> offers, double left_s, double total_s) {
  const double reserved_s = std::min(unfinished_s(offers), kMostReserved * total_s);
  using Rank = std::tuple<bool, bool, double>;  // The least runs.
  std::optional<std::pair<Rank, std::size_t>> best;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const StepOffer& offer = offers[i];
    if (offer.stage != TuneStage::kSearch || offer.first_s > left_s - reserved_s) continue;
    const double rate = offer.weight * offer.gain / std::max(offer.cost_s, kLeastCostS);
    const Rank rank(offer.waits, !starves(offers, i), -rate);
    if (!best || rank < best->first) best = {rank, i};
  }
  if (!best) return std::nullopt;
  return TuneStep{
      .problem = best->second, .stage = TuneStage::kSearch, .seconds = left_s - reserved_s};
}

/// Rules 2 to 4.
std::optional<TuneStep> without_first_looks(std::span<const StepOffer> offers, double left_s,
                                            double total_s) {
  const auto ended = std::ranges::find(offers, TuneStage::kFinish, &StepOffer::stage);
  if (ended != offers.end())
    return finish(offers, static_cast<std::size_t>(ended - offers.begin()), left_s);
  if (const auto step = search(offers, left_s, total_s)) return step;
  const auto open = std::ranges::find(offers, TuneStage::kSearch, &StepOffer::stage);
  if (open == offers.end()) return std::nullopt;
  return finish(offers, static_cast<std::size_t>(open - offers.begin()), left_s);
}

}  // namespace

std::optional<TuneStep> next_step(std::span<const StepOffer> offers, double left_s,
                                  double total_s) {
  if (left_s <= 0) return std::nullopt;
  if (const auto step = first_look(offers, left_s)) {
    if (!offers[step->problem].waits) return step;
    auto meanwhile = without_first_looks(offers, left_s, total_s);
    if (!meanwhile) return step;
    if (meanwhile->stage == TuneStage::kSearch && offers[meanwhile->problem].waits) return step;
    if (meanwhile->stage == TuneStage::kFinish)
      meanwhile->seconds = std::min(meanwhile->seconds, offers[meanwhile->problem].finish_s);
    return meanwhile;
  }
  return without_first_looks(offers, left_s, total_s);
}

}  // namespace rooftile
