#include "tuner/search_course.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "generator/compiler_work.h"
#include "runtime/model/roofline.h"
#include "tuner/search/elimination.h"
#include "tuner/search/strategies.h"

namespace rooftile {
namespace {

constexpr int kBatchesWithoutGain = 12;  // Limit after which the search of this problem ends.
constexpr double kGain = 0.99;           // Of the best time; a smaller gain is noise.
// Where the best kernel's time lies within these ratios of the roofline's bound, nothing is left to
// find. A kernel that is faster shows that the bound is wrong: caches serve more than the memory.
constexpr double kBelowBound = 0.98, kCloseToBound = 1.02;
constexpr std::size_t kMostSources = 6;  // Of other problems' measurements.

}  // namespace

SearchCourse::SearchCourse(Search& search, Objective objective)
    : search_(search), objective_(objective) {
  start();
}

void SearchCourse::start() {
  FirstCandidates first{.untuned = search_.default_candidate(),
                        .known = {},
                        .families = untried_families(),
                        .winners = search_.winners_elsewhere(),
                        .priors = {}};
  if (const auto known = search_.best_known()) first.known.push_back(*known);
  first.families.insert(first.families.begin(), search_.model_choice());
  for (const Prior& prior : search_.priors())
    if (const auto index = search_.index_of(prior.variant)) first.priors.push_back(*index);
  const std::vector<std::size_t> order = first_candidates(first, search_.analytical_ns());
  search_.trust(first.untuned);
  for (const auto* measured_elsewhere : {&first.known, &first.winners, &first.priors})
    for (const std::size_t index : *measured_elsewhere)
      if (std::ranges::find(order, index) != order.end()) search_.trust(index);
  queue_ = CandidateQueue(order);
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
  const double over_bound = search_.best_ns() / search_.bound_ns();
  return without_gain_ >= kBatchesWithoutGain ||
         (over_bound >= kBelowBound && over_bound <= kCloseToBound);
}

const std::vector<std::size_t>& SearchCourse::next() {
  search_.aim_at(objective_);
  if (!next_.empty() || ended()) return next_;
  claim_.reset();
  const std::vector<Candidate>& candidates = search_.candidates();
  next_ =
      queue_.take(kSearchBatch,
                  {.propose =
                       [&](std::size_t count) {
                         prepare_strategy();
                         std::vector<std::size_t> proposed = strategy_->propose(history(), count);
                         claim_ = strategy_->expected_gain();
                         return proposed;
                       },
                   .wanted =
                       [&](std::size_t index) {
                         if (candidates[index].tried) return false;
                         if (!search_.is_rejected(index)) return true;
                         unmeasurable_.push_back({index, std::numeric_limits<double>::infinity()});
                         return false;
                       },
                   .work =
                       [&](std::size_t index) {
                         return compiler_work(candidates[index].variant, search_.signature());
                       }});
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
             .rounds = search_.search_rounds(),
             .keep = 2});
  ++batches_;
  // What the end of the time left out comes first in the next batch.
  std::vector<std::size_t> left_out;
  for (const std::size_t index : batch)
    if (!search_.candidates()[index].tried) left_out.push_back(index);
  queue_.put_back(left_out);
  const double after = search_.best_ns();
  const bool nothing_measured = search_.context().runner.spilled() - spilled_before == batch.size();
  if (!nothing_measured) without_gain_ = after < kGain * before ? 0 : without_gain_ + 1;
  BatchResult result{.log2_gain = {}, .log2_claim = claim_};
  if (std::isfinite(before)) result.log2_gain = std::log2(before / after);
  return result;
}

}  // namespace rooftile
