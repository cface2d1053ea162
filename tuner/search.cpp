#include "tuner/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/groups.h"
#include "core/hash.h"
#include "generator/compiler_work.h"
#include "generator/packed_format.h"
#include "generator/priors/default_kernel.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "tuner/measure/cut_limit.h"
#include "tuner/measure/quiet_wait.h"
#include "tuner/search/strategy.h"
#include "tuner/stored/stored_winner.h"
#include "tuner/worker/spilled.h"

namespace rooftile {
namespace {

// Limits before there is a best time: this multiple of the prediction, but at least what a slow
// machine may need.
constexpr double kFirstRatio = 100, kFirstLeastNs = 1e9, kSearchFirstLimitNs = 10e9;
// A wake-up or another program's burst may double the time of a call shorter than kShortProductNs,
// so such calls get up to kMostShort times the samples.
constexpr double kShortProductNs = 1e6, kMostShort = 4;
// A burst of other programs is short against a longer call, of which one sample tells whether it
// belongs into the finals.
constexpr double kOneRoundNs = 100e6;
// Where everything is measured, few candidates are cut and many are finalists.
constexpr std::string_view kExhaustive = "exhaustive";
constexpr double kExhaustiveCutRatio = 100;
// Every table of the space with split-K has it: the kernels for which others are proposed.
constexpr int kSplitOfEveryTable = 4;

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
      priors_(priors_for(context.device, is_grouped(problem)
                                             ? equal_batch(problem, filled_groups(problem))
                                             : problem)),
      exhaustive_(context.options.strategy == kExhaustive) {
  collect_candidates();
  for (const Candidate& candidate : candidates_)
    analytical_ns_.push_back(rooftile::analytical_ns(problem, candidate.variant, context.rates));
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
  for (Variant v : context_.space) {
    if (skip_reason(v, context_.device, signature_)) continue;
    if (legal(v)) space.push_back(v);
    if (v.split_k != kSplitOfEveryTable) continue;
    for (const int split : splits_for(v, problem_, context_.rates.compute_units)) {
      v.split_k = split;
      if (legal(v)) space.push_back(v);
    }
  }
  std::optional<Variant> fastest;  // By the model, of the whole space.
  if (const std::size_t most = context_.options.candidates; most > 0 && space.size() > most) {
    fastest = *std::ranges::min_element(space, {}, [&](const Variant& v) {
      return rooftile::analytical_ns(problem_, v, context_.rates);
    });
    space = sample_of(space, most);
  }
  for (const Variant& variant : space) candidates_.push_back({.variant = variant});
  const auto add = [&](const Variant& variant) {
    if (legal(variant) && !index_of(variant)) candidates_.push_back({.variant = variant});
  };
  if (fastest) add(*fastest);
  add(default_kernel(context_.device, staged));
  add(fallback_variant());
  for (const Prior& prior : priors_) add(prior.variant);
  for (const RankedKernel& winner : context_.store.winners(device_row_))
    if (winner.kernel.problem == problem_) add(winner.kernel.candidate.variant);
}

// Reuses the measurements of an earlier run, which need not be repeated before the finals. Only
// kernels that were measured are generated, to compare their hashes: a space has thousands.
void Search::recall() {
  std::map<RowId, std::optional<std::size_t>> indices;
  for (const SampleRecord& sample :
       context_.store.samples(device_row_, context_.store.problem_id(problem_))) {
    const auto [entry, fresh] = indices.try_emplace(sample.candidate);
    if (fresh) entry->second = index_of_row(sample.candidate);
    if (!entry->second) continue;
    Candidate& candidate = candidates_[*entry->second];
    candidate.tried_before = true;
    if (sample.status != SampleStatus::kMeasured) continue;
    candidate.samples_ns.push_back(sample.kernel.median_ns / sample.level);
    candidate.pack_ns = sample.pack_ns / sample.level;
    candidate.compile_ns = sample.compile_ns;
    candidate.tried = true;
  }
}

// A row of other templates, or of another version of Rooftile, is another kernel.
std::optional<std::size_t> Search::index_of_row(RowId candidate) const {
  std::optional<CandidateRecord> record;
  try {
    record = context_.store.candidate(candidate);
  } catch (const Error&) {
  }
  if (!record || record->signature != to_string(signature_)) return std::nullopt;
  const auto index = index_of(record->variant);
  const bool same = index && context_.runner.id(record->variant, signature_) == candidate;
  return same ? index : std::nullopt;
}

std::optional<std::size_t> Search::index_of(const Variant& variant) const {
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (candidates_[i].variant == variant) return i;
  return std::nullopt;
}

const Candidate* Search::find(const Variant& variant) const {
  const auto index = index_of(variant);
  return index ? &candidates_[*index] : nullptr;
}

std::size_t Search::default_candidate() const {
  if (const auto index = index_of(default_kernel(context_.device, staged_problem(problem_))))
    return *index;
  return model_choice();
}

std::size_t Search::model_choice() const {
  return static_cast<std::size_t>(std::ranges::min_element(analytical_ns_) -
                                  analytical_ns_.begin());
}

std::vector<std::size_t> Search::winners_elsewhere() const {
  std::vector<TunedKernel> winners;
  for (const RankedKernel& winner : context_.store.winners(device_row_))
    if (winner.kernel.rank == 0) winners.push_back(winner.kernel);
  std::ranges::stable_sort(winners, {}, [&](const TunedKernel& winner) {
    const bool other_kind = signature_of(winner.problem).types != signature_.types;
    return std::pair(other_kind, size_distance(winner.problem, problem_));
  });
  std::vector<std::size_t> order;
  for (const TunedKernel& winner : winners)
    if (const auto index = index_of(winner.candidate.variant);
        index && std::ranges::find(order, *index) == order.end())
      order.push_back(*index);
  return order;
}

std::optional<std::size_t> Search::best_known() const {
  if (const auto stored = stored_winner(context_.store, context_.runner, device_row_, problem_))
    if (const auto index = index_of(stored->candidate.variant)) return index;
  std::vector<std::size_t> known = winners_elsewhere(), chosen;
  for (const Prior& prior : priors_)
    if (const auto index = index_of(prior.variant)) chosen.push_back(*index);
  std::ranges::stable_sort(chosen, {}, [&](std::size_t index) { return analytical_ns_[index]; });
  known.insert(known.end(), chosen.begin(), chosen.end());
  const std::size_t own = default_candidate();
  for (const std::size_t index : known)
    if (index != own && is_plausible(analytical_ns_, index) && !is_rejected(index)) return index;
  std::optional<std::size_t> quickest;
  double least_work = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const double work = compiler_work(candidates_[i].variant, signature_);
    if (i == own || work >= least_work || !is_plausible(analytical_ns_, i)) continue;
    quickest = i;
    least_work = work;
  }
  return quickest && !is_rejected(*quickest) ? quickest : std::nullopt;
}

bool Search::is_rejected(std::size_t index) const {
  return context_.runner.rejected(context_.runner.id(candidates_[index].variant, signature_));
}

void Search::compile_ahead(const std::vector<std::size_t>& batch, Wanted wanted) const {
  std::vector<Variant> variants;
  for (const std::size_t index : batch)
    if (!candidates_[index].tried_now) variants.push_back(candidates_[index].variant);
  // One alone gains nothing where it is waited for at once.
  if (variants.size() > 1 || context_.runner.compiles_beside())
    context_.runner.compile_ahead(std::move(variants), problem_, wanted);
}

bool Search::is_compiling(const std::vector<std::size_t>& batch) const {
  return std::ranges::any_of(batch, [&](std::size_t index) {
    return context_.runner.compilation(candidates_[index].variant, signature_) ==
           CompileAhead::State::kCompiling;
  });
}

std::optional<std::vector<double>> Search::measure(std::size_t index, int samples,
                                                   const std::function<bool(double)>& again) {
  Candidate& candidate = candidates_[index];
  const bool tried_before = std::exchange(candidate.tried, true);
  candidate.tried_now = true;
  const double best = best_ns();
  const double first_ns =
      std::clamp(kFirstRatio * analytical_ns_[index], kFirstLeastNs, kSearchFirstLimitNs);
  const double cut_ns = exhaustive_ ? cut_limit_ns(best, kExhaustiveCutRatio) : cut_limit_ns(best);
  const double limit_ns = std::isfinite(best) ? cut_ns : first_ns;
  const Spilled spilled = spilled_policy({.trusted = candidate.trusted,
                                          .measured = std::isfinite(ns_of(candidate)),
                                          .first_here = !std::isfinite(best)});
  const std::vector<double>& earlier = samples_of(candidate);
  const double usual_ns = earlier.empty() ? 0 : median(earlier);
  std::optional<TimeReply> reply;
  double start_s = 0;
  do {
    start_s = now_s();
    reply = context_.runner.time(candidate.variant, problem_,
                                 {.samples = samples,
                                  .limit_ns = limit_ns,
                                  .spilled = spilled,
                                  .prepacked = timed_prepacked(candidate)});
    if (!reply) {
      if (context_.over()) candidate.tried = tried_before;  // It was interrupted.
      return std::nullopt;
    }
  } while (again && is_slowed(median(reply->kernel_ns), usual_ns) && again(now_s() - start_s));
  candidate.measured_now = true;
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
const std::vector<double>& Search::samples_of(const Candidate& candidate) const {
  return timed_prepacked(candidate) ? candidate.prepacked_ns : candidate.samples_ns;
}

void Search::set_finalists(std::span<const std::size_t> candidates,
                           std::vector<std::vector<double>> samples) {
  bool Candidate::*const finalist =
      objective_ == Objective::kCall ? &Candidate::finalist : &Candidate::prepacked_finalist;
  for (Candidate& candidate : candidates_) candidate.*finalist = false;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& candidate = candidates_[candidates[i]];
    candidate.*finalist = true;
    samples_of(candidate) = std::move(samples[i]);
  }
}

std::size_t Search::tried() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      candidates_, [](const Candidate& c) { return c.tried || c.tried_before; }));
}

bool Search::measured_now() const {
  return std::ranges::any_of(candidates_, &Candidate::measured_now);
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
    return std::pair(
        !candidate->prepacked_finalist,
        median(samples(*candidate)) +
            (1 - packing_share(candidate->variant, problem_, operand)) * candidate->pack_ns);
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
  std::ranges::stable_sort(order, {}, [](const Candidate* candidate) {
    return std::pair(!candidate->finalist, candidate->total_ns());
  });
  if (order.empty()) return order;
  const double equal_ns = kEqualTimes * order.front()->total_ns();
  const auto end = std::ranges::find_if(order, [&](const Candidate* candidate) {
    return candidate->total_ns() > equal_ns || candidate->finalist != order.front()->finalist;
  });
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

int Search::search_rounds() const {
  const double best = best_ns();
  return std::isfinite(best) && best > kOneRoundNs ? 1 : kSearchRounds;
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
    const Roofline limits = roofline(problem_, fastest->variant, context_.rates);
    progress.limiter = limiter(limits).name;
  }
  context_.progress(progress);
}

}  // namespace rooftile
