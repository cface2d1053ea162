#include "tuner/search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <span>

#include "core/clock.h"
#include "core/hash.h"
#include "generator/packed_format.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "tuner/search/elimination.h"
#include "tuner/search/strategy_choice.h"
#include "tuner/worker/spilled.h"

namespace rooftile {
namespace {

constexpr int kBatchesWithoutGain = 12;  // Limit after which the search of this problem ends.
constexpr double kGain = 0.99;           // Of the best time; a smaller gain is noise.
constexpr double kCloseToBound = 1.02;   // Of the roofline's bound; nothing is left to find.
constexpr double kCutRatio = 8;  // Times the best; a slower candidate is only probed, not measured.
// Limits before there is a best time: this multiple of the prediction, but at least what a slow
// machine may need.
constexpr double kFirstRatio = 100, kFirstLeastNs = 1e9, kFirstLimitNs = 10e9;
// A wake-up or another program's burst may double the time of a call shorter than kShortProductNs,
// so such calls get up to kMostShort times the samples.
constexpr double kShortProductNs = 1e6, kMostShort = 4;
// Where everything is measured, few candidates are cut and many are finalists.
constexpr std::string_view kExhaustive = "exhaustive";
constexpr double kExhaustiveCutRatio = 100;
constexpr std::size_t kExhaustiveFinalists = 128;
constexpr int kExhaustiveRounds = 10, kExhaustiveSamples = 4;
// First candidates: the default and other problems' winners, then priors of devices of this kind.
constexpr std::size_t kMostWinners = 6, kMostSeeds = 8;
constexpr std::size_t kMostSources = 6;  // Of other problems' measurements.
// Times within this ratio are equal for a caller. Among equals the kernel that compiles faster goes
// first, because programs wait for it.
constexpr double kEqual = 1.02;

/// Returns the candidates with the smallest hashes, so that the samples of any two spaces agree on
/// their common candidates.
std::vector<Variant> sample_of(const std::vector<Variant>& space, std::size_t count) {
  std::vector<std::pair<std::string, std::size_t>> order;
  for (std::size_t i = 0; i < space.size(); ++i)
    order.emplace_back(hash_hex(to_string(space[i])), i);
  std::ranges::sort(order);
  order.resize(count);
  std::vector<Variant> sample;
  for (const auto& [hash, i] : order) sample.push_back(space[i]);
  return sample;
}

}  // namespace

Search::Search(const ProblemTunerContext& context, RowId device_row, const Problem& problem)
    : context_(context),
      device_row_(device_row),
      problem_(problem),
      signature_(signature_of(problem)),
      bound_ns_(problem_bound_ns(problem, context.rates)),
      priors_(priors_for(context.device, problem)),
      exhaustive_(context.options.strategy == kExhaustive) {
  collect_candidates();
  recall();
}

void Search::collect_candidates() {
  const Problem staged = staged_problem(problem_);
  const Placement placement = own_buffers(staged);
  const auto legal = [&](const Variant& v) {
    if (v.reduction == Reduction::kAtomic && !context_.options.atomics) return false;
    return !illegal_reason(v, context_.device.limits, staged, placement).has_value();
  };
  std::vector<Variant> space;
  std::ranges::copy_if(context_.space, std::back_inserter(space), legal);
  if (const std::size_t most = context_.options.candidates; most > 0 && space.size() > most)
    space = sample_of(space, most);
  for (const Variant& variant : space) candidates_.push_back({.variant = variant});
  const auto add = [&](const Variant& variant) {
    if (legal(variant) && !index_of(variant)) candidates_.push_back({.variant = variant});
  };
  add(default_variant(context_.device));
  add(fallback_variant());
  for (const Prior& prior : priors_) add(prior.variant);
  for (const RankedKernel& winner : context_.store.winners(device_row_))
    if (winner.kernel.problem == problem_) add(winner.kernel.candidate.variant);
}

// Reuses the measurements of an earlier run, which need not be repeated before the finals.
void Search::recall() {
  std::map<RowId, std::vector<double>> kernel_ns;
  std::map<RowId, double> pack_ns, compile_ns;
  for (const SampleRecord& sample :
       context_.store.samples(device_row_, context_.store.problem_id(problem_))) {
    if (sample.status != SampleStatus::kMeasured) continue;
    kernel_ns[sample.candidate].push_back(sample.kernel.median_ns);
    pack_ns[sample.candidate] = sample.pack_ns;
    compile_ns[sample.candidate] = sample.compile_ns;
  }
  if (kernel_ns.empty()) return;
  for (Candidate& candidate : candidates_) {
    const RowId id = context_.runner.id(candidate.variant, signature_);
    if (const auto known = kernel_ns.find(id); known != kernel_ns.end()) {
      candidate.samples_ns = known->second;
      candidate.pack_ns = pack_ns[id];
      candidate.compile_ns = compile_ns[id];
      candidate.tried = true;
    }
  }
}

std::optional<std::size_t> Search::index_of(const Variant& variant) const {
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (candidates_[i].variant == variant) return i;
  return std::nullopt;
}

// Returns the default, the winners on the nearest other problems of this device, and the priors
// that the model does not rule out. Winners transfer well, but the number is limited, so that a
// database of many problems leaves time for the search.
std::vector<std::size_t> Search::seeds(const SearchSpace& space) const {
  std::vector<std::size_t> order;
  const auto add = [&](std::optional<std::size_t> index) {
    if (index && std::ranges::find(order, *index) == order.end()) order.push_back(*index);
  };
  add(index_of(default_variant(context_.device)));
  std::vector<TunedKernel> winners;
  for (const RankedKernel& winner : context_.store.winners(device_row_))
    if (winner.kernel.rank == 0) winners.push_back(winner.kernel);
  std::ranges::stable_sort(winners, {}, [&](const TunedKernel& winner) {
    const bool other_kind = signature_of(winner.problem).types != signature_.types;
    return std::pair(other_kind, size_distance(winner.problem, problem_));
  });
  for (const TunedKernel& winner : winners)
    if (order.size() < kMostWinners) add(index_of(winner.candidate.variant));
  for (const Prior& prior : priors_) {
    if (order.size() >= kMostSeeds) break;
    const auto index = index_of(prior.variant);
    if (index && is_plausible(space, *index)) add(index);
  }
  add(index_of(fallback_variant()));
  return order;
}

std::optional<std::vector<double>> Search::measure(std::size_t index, int samples) {
  Candidate& candidate = candidates_[index];
  candidate.tried = true;
  const double best = best_ns();
  const double cut_ratio = exhaustive_ ? kExhaustiveCutRatio : kCutRatio;
  const double first_ns =
      std::clamp(kFirstRatio * analytical_ns(problem_, candidate.variant, context_.rates),
                 kFirstLeastNs, kFirstLimitNs);
  const double limit_ns = std::isfinite(best) ? std::max(cut_ratio * best, 1e6) : first_ns;
  const Spilled spilled = spilled_policy({.trusted = candidate.trusted,
                                          .measured = std::isfinite(ns_of(candidate)),
                                          .first_here = !std::isfinite(best)});
  const auto reply = context_.runner.time(candidate.variant, problem_,
                                          {.samples = samples,
                                           .limit_ns = limit_ns,
                                           .spilled = spilled,
                                           .prepacked = timed_prepacked(candidate)});
  if (!reply) return std::nullopt;
  std::ranges::copy(reply->kernel_ns, std::back_inserter(samples_of(candidate)));
  candidate.pack_ns = reply->pack_ns;
  candidate.compile_ns = reply->compile_ns;
  report();
  // Elimination compares the times of whole calls, packing included.
  std::vector<double> totals = reply->kernel_ns;
  for (double& ns : totals) ns += packing_left_ns(candidate);
  return totals;
}

double Search::packing_left_ns(const Candidate& candidate) const {
  if (objective_ == Objective::kCall) return candidate.pack_ns;
  const double before = std::max(packing_share(candidate.variant, problem_, Operand::kA),
                                 packing_share(candidate.variant, problem_, Operand::kB));
  return (1 - before) * candidate.pack_ns;
}

bool Search::timed_prepacked(const Candidate& candidate) const {
  return objective_ == Objective::kPrepacked && packs(candidate.variant);
}

std::vector<double>& Search::samples_of(Candidate& candidate) const {
  return timed_prepacked(candidate) ? candidate.prepacked_ns : candidate.samples_ns;
}

// Until a candidate is timed with operands packed before, its times in calls that pack stand in.
// They are the shorter ones, so that it reaches the finals.
double Search::ns_of(const Candidate& candidate) const {
  const bool prepacked = timed_prepacked(candidate) && !candidate.prepacked_ns.empty();
  const std::vector<double>& samples = prepacked ? candidate.prepacked_ns : candidate.samples_ns;
  return samples.empty() ? std::numeric_limits<double>::infinity()
                         : median(samples) + packing_left_ns(candidate);
}

bool Search::packing_matters() const {
  constexpr double kMatters = 0.03;  // Of the kernel's time.
  bool exists = false, measured = false, matters = false;
  for (const Candidate& candidate : candidates_) {
    if (!packs(candidate.variant)) continue;
    exists = true;
    if (candidate.samples_ns.empty()) continue;
    measured = true;
    matters |= candidate.pack_ns > kMatters * median(candidate.samples_ns);
  }
  return exists && (!measured || matters);
}

std::vector<const Candidate*> Search::preferred_prepacked(Operand operand) const {
  std::vector<const Candidate*> order;
  const auto samples = [](const Candidate& candidate) -> const std::vector<double>& {
    return packs(candidate.variant) ? candidate.prepacked_ns : candidate.samples_ns;
  };
  for (const Candidate& candidate : candidates_)
    if (!samples(candidate).empty()) order.push_back(&candidate);
  std::ranges::stable_sort(order, {}, [&](const Candidate* candidate) {
    return median(samples(*candidate)) +
           (1 - packing_share(candidate->variant, problem_, operand)) * candidate->pack_ns;
  });
  return order;
}

std::vector<std::size_t> Search::ranked() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (std::isfinite(ns_of(candidates_[i]))) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return ns_of(candidates_[x]) < ns_of(candidates_[y]);
  });
  return order;
}

std::vector<const Candidate*> Search::preferred() const {
  std::vector<const Candidate*> order;
  for (const Candidate& candidate : candidates_)
    if (!candidate.samples_ns.empty()) order.push_back(&candidate);
  std::ranges::stable_sort(order, {}, &Candidate::total_ns);
  if (order.empty()) return order;
  const double equal_ns = kEqual * order.front()->total_ns();
  const auto end = std::ranges::find_if(
      order, [&](const Candidate* candidate) { return candidate->total_ns() > equal_ns; });
  std::stable_sort(order.begin(), end, [](const Candidate* x, const Candidate* y) {
    return x->compile_ns < y->compile_ns;
  });
  return order;
}

double Search::best_ns() const {
  const Candidate* fastest = best();
  return fastest == nullptr ? std::numeric_limits<double>::infinity() : ns_of(*fastest);
}

int Search::round_samples(int usual) const {
  const double best = best_ns(), ns = std::isfinite(best) ? best : bound_ns_;
  if (ns > kLongProductNs) return 1;
  if (!std::isfinite(best)) return usual;
  return usual * static_cast<int>(std::clamp(kShortProductNs / ns, 1.0, kMostShort));
}

const Candidate* Search::best() const {
  const Candidate* best = nullptr;
  double best_ns = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates_)
    if (const double ns = ns_of(candidate); ns < best_ns) {
      best = &candidate;
      best_ns = ns;
    }
  return best;
}

void Search::report() const {
  TuneProgress progress{.phase = TunePhase::kSearching, .problem = to_string(problem_)};
  if (const Candidate* fastest = best()) {
    const double best_ns = ns_of(*fastest);
    progress.best_gflops = flops(problem_) / best_ns;
    progress.roofline_share = bound_ns_ / best_ns;
    progress.best_variant = short_name(fastest->variant);
    const Roofline limits = roofline(problem_, fastest->variant, context_.rates);
    if (limits.ns() > 0) progress.limiter = limits.bounds.front().limiter;
  }
  context_.progress(progress);
}

// Returns the few nearest other problems of this device.
std::vector<TransferSource> Search::own_sources() const {
  std::vector<Problem> problems;
  for (const RankedKernel& winner : context_.store.winners(device_row_))
    if (winner.kernel.problem != problem_ &&
        std::ranges::find(problems, winner.kernel.problem) == problems.end())
      problems.push_back(winner.kernel.problem);
  std::ranges::stable_sort(problems, {}, [&](const Problem& p) {
    return std::pair(p.types != problem_.types, size_distance(p, problem_));
  });
  problems.resize(std::min(problems.size(), kMostSources));
  std::vector<TransferSource> sources;
  for (const Problem& p : problems) {
    std::map<RowId, std::vector<double>> times;
    for (const SampleRecord& sample :
         context_.store.samples(device_row_, context_.store.problem_id(p)))
      if (sample.status == SampleStatus::kMeasured)
        times[sample.candidate].push_back(sample.kernel.median_ns + sample.pack_ns);
    TransferSource source{.problem = p};
    for (const auto& [id, ns] : times)
      source.measured.push_back({context_.store.candidate(id).value().variant, median(ns)});
    sources.push_back(std::move(source));
  }
  return sources;
}

SearchSpace Search::space() const {
  std::vector<Variant> variants;
  for (const Candidate& candidate : candidates_) variants.push_back(candidate.variant);
  // The model predicts a call with a packed operand as if the kernel read it without packing.
  if (objective_ == Objective::kPrepacked)
    for (Variant& v : variants) v.packed_a = v.packed_b = Packed::kNo;
  SearchSpace space = search_space(problem_, context_.rates, std::move(variants));
  for (std::size_t i = 0; i < candidates_.size(); ++i) space.variants[i] = candidates_[i].variant;
  std::vector<TransferSource> sources = own_sources();
  std::ranges::move(sources_of_others(context_.store, device_row_, problem_),
                    std::back_inserter(sources));
  space.transferred = transferred(space, sources);
  space.starts = seeds(space);
  return space;
}

std::vector<Observation> Search::history() const {
  std::vector<Observation> history;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (candidates_[i].tried) history.push_back({i, ns_of(candidates_[i])});
  return history;
}

/// Returns the candidates to be measured next; candidates that cannot be measured are added to the
/// history at once.
std::vector<std::size_t> Search::next_batch(Strategy& strategy, std::vector<std::size_t>& pending,
                                            std::vector<Observation>& history) {
  std::vector<std::size_t> batch;
  while (batch.size() < kSearchBatch) {
    if (pending.empty()) pending = strategy.propose(history, kSearchBatch - batch.size());
    if (pending.empty()) break;
    for (const std::size_t index : std::exchange(pending, {})) {
      if (candidates_[index].tried || std::ranges::find(batch, index) != batch.end()) continue;
      if (batch.size() == kSearchBatch)
        pending.push_back(index);
      else if (context_.runner.rejected(context_.runner.id(candidates_[index].variant, signature_)))
        history.push_back({index, std::numeric_limits<double>::infinity()});
      else
        batch.push_back(index);
    }
  }
  return batch;
}

void Search::run(double end_s, Objective objective) {
  objective_ = objective;
  const SearchSpace space = this->space();
  const auto strategy = make_strategy(context_.options.strategy, space, context_.options.seed);
  const auto over = [&] { return context_.over() || now_s() >= end_s; };
  // With every strategy, winners of other problems come first.
  std::vector<std::size_t> pending = space.starts;
  for (const std::size_t index : pending) candidates_[index].trusted = true;
  std::vector<Observation> history = this->history();
  int without_gain = 0;
  while (!over() && (exhaustive_ || without_gain < kBatchesWithoutGain)) {
    const double before = best_ns();
    if (!exhaustive_ && before <= kCloseToBound * bound_ns_) return;
    const std::vector<std::size_t> batch = next_batch(*strategy, pending, history);
    if (batch.empty()) return;
    const std::size_t spilled_before = context_.runner.spilled();
    eliminate(
        batch.size(), [&](std::size_t arm, int samples) { return measure(batch[arm], samples); },
        over,
        {.samples_per_round = round_samples(kSearchSamples), .rounds = kSearchRounds, .keep = 2});
    for (const std::size_t index : batch) history.push_back({index, ns_of(candidates_[index])});
    // Nothing could be measured.
    if (context_.runner.spilled() - spilled_before == batch.size()) continue;
    without_gain = best_ns() < kGain * before ? 0 : without_gain + 1;
  }
}

void Search::try_suspects(double end_s) {
  objective_ = Objective::kCall;
  constexpr int kSamples = 2;
  for (const CandidateRecord& suspect : context_.runner.suspects()) {
    if (context_.over() || now_s() >= end_s) return;
    const auto index = index_of(suspect.variant);
    if (!index || suspect.signature != to_string(signature_)) continue;
    context_.runner.release(suspect.id);
    measure(*index, kSamples);
    // The certification may have caused the earlier death.
    context_.runner.certified(suspect.variant, signature_);
  }
}

void Search::finals(double end_s, Objective objective) {
  objective_ = objective;
  std::vector<std::size_t> order = ranked();
  const auto over = [&] { return context_.over() || now_s() >= end_s; };
  if (exhaustive_) {
    // The samples for the other objective serve both.
    if (objective == Objective::kPrepacked) return;
    // No candidate is eliminated, because every candidate's time is wanted.
    order.resize(std::min(order.size(), kExhaustiveFinalists));
    for (int round = 0; round < kExhaustiveRounds; ++round)
      for (const std::size_t index : order) {
        if (over()) return;
        measure(index, kExhaustiveSamples);
      }
    return;
  }
  order.resize(std::min(order.size(), kFinalists));
  if (order.size() < 2) return;
  std::vector<std::vector<double>> kernel_share(order.size());  // Of each sample.
  const std::vector<Arm> arms = eliminate(
      order.size(),
      [&](std::size_t arm, int samples) {
        const auto totals = measure(order[arm], samples);
        if (!totals) return totals;
        const auto kernels = std::span(samples_of(candidates_[order[arm]])).last(totals->size());
        for (std::size_t i = 0; i < totals->size(); ++i)
          kernel_share[arm].push_back(kernels[i] / (*totals)[i]);
        return totals;
      },
      over, {.samples_per_round = round_samples(kFinalSamples), .rounds = kFinalRounds, .keep = 1});
  // The new samples replace the old ones only when all finalists were timed side by side.
  if (std::ranges::any_of(arms, [](const Arm& arm) { return arm.samples_ns.empty(); })) return;
  // Removes the effects of whole rounds.
  for (std::size_t arm = 0; arm < order.size(); ++arm) {
    std::vector<double>& samples = samples_of(candidates_[order[arm]]);
    samples = arms[arm].samples_ns;
    std::ranges::transform(samples, kernel_share[arm], samples.begin(), std::multiplies());
  }
}

const Candidate* Search::find(const Variant& variant) const {
  const auto index = index_of(variant);
  return index ? &candidates_[*index] : nullptr;
}

}  // namespace rooftile
