#include "tuner/search_course.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "generator/compiler_work.h"
#include "runtime/model/roofline.h"
#include "tuner/search/elimination.h"
#include "tuner/search/strategy_choice.h"

namespace rooftile {
namespace {

constexpr int kBatchesWithoutGain = 12;  // Limit after which the search of this problem ends.
constexpr double kGain = 0.99;           // Of the best time; a smaller gain is noise.
constexpr double kCloseToBound = 1.02;   // Of the roofline's bound; nothing is left to find.
// First candidates besides those of families: winners of other problems, then priors of devices of
// this kind. Winners transfer well, but their number is limited, so that a database of many
// problems leaves time for the search.
constexpr std::size_t kMostWinners = 6, kMostStarts = 8;
constexpr std::size_t kMostSources = 6;  // Of other problems' measurements.

bool contains(const std::vector<std::size_t>& list, std::size_t index) {
  return std::ranges::find(list, index) != list.end();
}

}  // namespace

SearchCourse::SearchCourse(Search& search, Objective objective)
    : search_(search), objective_(objective) {
  start();
}

void SearchCourse::start() {
  const auto add = [&](std::size_t index) {
    if (!contains(pending_, index)) pending_.push_back(index);
    search_.trust(index);
  };
  add(search_.default_candidate());
  if (const auto known = search_.best_known()) add(*known);
  for (const std::size_t index : untried_families())
    if (!contains(pending_, index)) pending_.push_back(index);
  std::size_t winners = 0;
  for (const std::size_t index : search_.winners_elsewhere())
    if (winners++ < kMostWinners && is_plausible(search_.analytical_ns(), index)) add(index);
  for (const Prior& prior : search_.priors()) {
    if (pending_.size() >= kMostStarts) break;
    const auto index = search_.index_of(prior.variant);
    if (index && is_plausible(search_.analytical_ns(), *index)) add(*index);
  }
}

// Candidates that may not run are looked for among the chosen ones only, because that takes the
// hash of their shader.
std::vector<std::size_t> SearchCourse::untried_families() const {
  std::vector<Variant> variants;
  std::vector<bool> tried;
  for (const Candidate& candidate : search_.candidates()) {
    variants.push_back(candidate.variant);
    tried.push_back(candidate.tried);
  }
  std::vector<double> ns = search_.analytical_ns();
  while (true) {
    std::vector<std::size_t> order = family_firsts(variants, ns, tried);
    const auto rejected =
        std::ranges::find_if(order, [&](std::size_t index) { return search_.is_rejected(index); });
    if (rejected == order.end()) return order;
    ns[*rejected] = std::numeric_limits<double>::infinity();
  }
}

// Returns the few nearest other problems of this device.
std::vector<TransferSource> SearchCourse::own_sources() const {
  const Problem& problem = search_.problem();
  Store& store = search_.context().store;
  std::vector<Problem> problems;
  for (const RankedKernel& winner : store.winners(search_.device_row()))
    if (winner.kernel.problem != problem &&
        std::ranges::find(problems, winner.kernel.problem) == problems.end())
      problems.push_back(winner.kernel.problem);
  std::ranges::stable_sort(problems, {}, [&](const Problem& p) {
    return std::pair(p.types != problem.types, size_distance(p, problem));
  });
  problems.resize(std::min(problems.size(), kMostSources));
  std::vector<TransferSource> sources;
  for (const Problem& p : problems) {
    std::map<RowId, std::vector<double>> times;
    for (const SampleRecord& sample : store.samples(search_.device_row(), store.problem_id(p)))
      if (sample.status == SampleStatus::kMeasured)
        times[sample.candidate].push_back(sample.kernel.median_ns + sample.pack_ns);
    TransferSource source{.problem = p};
    for (const auto& [id, ns] : times)
      source.measured.push_back({store.candidate(id).value().variant, median(ns)});
    sources.push_back(std::move(source));
  }
  return sources;
}

// The strategy is prepared once more after twice as many batches, because the searches of other
// problems have found something meanwhile.
void SearchCourse::prepare_strategy() {
  if (strategy_ != nullptr &&
      (!strategy_->uses_transfer() || batches_ < 2 * std::max<std::size_t>(strategy_since_, 1)))
    return;
  const ProblemTunerContext& context = search_.context();
  std::vector<Variant> variants, stored;
  for (const Candidate& candidate : search_.candidates()) variants.push_back(candidate.variant);
  stored = variants;
  // The model predicts a call with a packed operand as if the kernel read it without packing.
  if (objective_ == Objective::kPrepacked)
    for (Variant& v : variants) v.packed_a = v.packed_b = Packed::kNo;
  SearchSpace space = search_space(search_.problem(), context.rates, std::move(variants));
  space.variants = std::move(stored);
  std::vector<TransferSource> sources = own_sources();
  std::ranges::move(sources_of_others(context.store, search_.device_row(), search_.problem()),
                    std::back_inserter(sources));
  space.transferred = transferred(space, sources);
  strategy_.reset();  // It refers to the old space.
  space_ = std::move(space);
  strategy_ = make_strategy(context.options.strategy, space_, context.options.seed);
  strategy_since_ = batches_;
}

std::vector<Observation> SearchCourse::history() const {
  std::vector<Observation> history = unmeasurable_;
  const std::vector<Candidate>& candidates = search_.candidates();
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].tried) history.push_back({i, search_.ns_of(candidates[i])});
  return history;
}

bool SearchCourse::ended() const {
  if (search_.is_exhaustive()) return false;
  return without_gain_ >= kBatchesWithoutGain ||
         search_.best_ns() <= kCloseToBound * search_.bound_ns();
}

const std::vector<std::size_t>& SearchCourse::next() {
  search_.aim_at(objective_);
  if (!next_.empty() || ended()) return next_;
  claim_.reset();
  while (next_.size() < kSearchBatch) {
    if (pending_.empty()) {
      prepare_strategy();
      pending_ = strategy_->propose(history(), kSearchBatch - next_.size());
      claim_ = strategy_->expected_gain();
    }
    if (pending_.empty()) break;
    std::vector<std::size_t> later;
    for (const std::size_t index : pending_) {
      if (search_.candidates()[index].tried || contains(next_, index)) continue;
      if (next_.size() == kSearchBatch)
        later.push_back(index);
      else if (search_.is_rejected(index))
        unmeasurable_.push_back({index, std::numeric_limits<double>::infinity()});
      else
        next_.push_back(index);
    }
    pending_ = std::move(later);
  }
  // Where the time ends within the batch, more of it was measured.
  std::ranges::stable_sort(next_, {}, [&](std::size_t index) {
    return compiler_work(search_.candidates()[index].variant, search_.signature());
  });
  return next_;
}

BatchResult SearchCourse::run(const std::function<bool()>& over) {
  const std::vector<std::size_t> batch = std::exchange(next_, {});
  search_.aim_at(objective_);
  const double before = search_.best_ns();
  const std::size_t spilled_before = search_.context().runner.spilled();
  eliminate(batch.size(),
            [&](std::size_t arm, int samples) { return search_.measure(batch[arm], samples); },
            over,
            {.samples_per_round = search_.round_samples(kSearchSamples),
             .rounds = kSearchRounds,
             .keep = 2});
  ++batches_;
  // What the end of the time left out comes first in the next batch.
  std::vector<std::size_t> left_out;
  for (const std::size_t index : batch)
    if (!search_.candidates()[index].tried) left_out.push_back(index);
  pending_.insert(pending_.begin(), left_out.begin(), left_out.end());
  const double after = search_.best_ns();
  const bool nothing_measured = search_.context().runner.spilled() - spilled_before == batch.size();
  if (!nothing_measured) without_gain_ = after < kGain * before ? 0 : without_gain_ + 1;
  BatchResult result{.log2_gain = {}, .log2_claim = claim_};
  if (std::isfinite(before)) result.log2_gain = std::log2(before / after);
  return result;
}

}  // namespace rooftile
