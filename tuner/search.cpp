#include "tuner/search.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/clock.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "runtime/model/roofline.h"
#include "runtime/staging.h"
#include "tuner/elimination.h"
#include "tuner/spilled.h"
#include "tuner/strategy.h"

namespace rooftile {
namespace {

constexpr std::size_t kBatch = 6;       // candidates a round of the search
constexpr int kBatchesWithoutGain = 8;  // then the search of this problem ends
constexpr double kGain = 0.99;          // of the best time: less is noise
constexpr double kCloseToBound = 1.02;  // of the roofline's bound: nothing left to find
constexpr double kCutRatio = 8;         // times the best: such a candidate is probed, not measured
constexpr double kFirstLimitNs = 10e9;  // before there is a best
constexpr std::size_t kFinalists = 4;
// Tried first: the default and other problems' winners, then what is known of devices of this kind.
constexpr std::size_t kMostWinners = 6, kMostSeeds = 8;
// Times this close are equal for a caller; of equals the kernel that compiles faster goes first:
// programs wait for it.
constexpr double kEqual = 1.02;

}  // namespace

Search::Search(const ProblemTunerContext& context, RowId device_row, const Problem& problem)
    : context_(context),
      device_row_(device_row),
      problem_(problem),
      signature_(signature_of(problem)),
      bound_ns_(problem_bound_ns(problem, context.rates)),
      priors_(priors_for(context.device, problem)) {
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
  for (const Variant& variant : context_.space)
    if (legal(variant)) candidates_.push_back({.variant = variant});
  const auto add = [&](const Variant& variant) {
    if (legal(variant) && !index_of(variant)) candidates_.push_back({.variant = variant});
  };
  add(default_variant(context_.device));
  add(fallback_variant());
  for (const Prior& prior : priors_) add(prior.variant);
}

// What an earlier run has measured here need not be measured again before the finals.
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

// The default, what has won on the nearest other problems of this device, and the priors: winners
// travel well, but a database of many problems must not leave time for nothing else.
std::vector<std::size_t> Search::seeds() const {
  std::vector<std::size_t> order;
  const auto add = [&](const Variant& variant) {
    const auto index = index_of(variant);
    if (index && std::find(order.begin(), order.end(), *index) == order.end())
      order.push_back(*index);
  };
  add(default_variant(context_.device));
  std::vector<TunedKernel> winners;
  for (const RankedKernel& winner : context_.store.winners(device_row_))
    if (winner.kernel.rank == 0) winners.push_back(winner.kernel);
  std::ranges::stable_sort(winners, {}, [&](const TunedKernel& winner) {
    const bool other_kind = signature_of(winner.problem).types != signature_.types;
    return std::pair(other_kind, size_distance(winner.problem, problem_));
  });
  for (const TunedKernel& winner : winners)
    if (order.size() < kMostWinners) add(winner.candidate.variant);
  for (const Prior& prior : priors_)
    if (order.size() < kMostSeeds) add(prior.variant);
  add(fallback_variant());
  return order;
}

std::optional<std::vector<double>> Search::measure(std::size_t index, int samples) {
  Candidate& candidate = candidates_[index];
  candidate.tried = true;
  const double best = best_ns();
  const double limit_ns = std::isfinite(best) ? std::max(kCutRatio * best, 1e6) : kFirstLimitNs;
  const Spilled spilled = spilled_policy({.trusted = candidate.trusted,
                                          .measured = !candidate.samples_ns.empty(),
                                          .first_here = !std::isfinite(best)});
  const auto reply = context_.runner.time(candidate.variant, problem_, samples, limit_ns, spilled);
  if (!reply) return std::nullopt;
  candidate.samples_ns.insert(candidate.samples_ns.end(), reply->kernel_ns.begin(),
                              reply->kernel_ns.end());
  candidate.pack_ns = reply->pack_ns;
  candidate.compile_ns = reply->compile_ns;
  report();
  // Packing is paid by the call as well: elimination compares what a call pays.
  std::vector<double> totals = reply->kernel_ns;
  for (double& ns : totals) ns += reply->pack_ns;
  return totals;
}

std::vector<std::size_t> Search::ranked() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (!candidates_[i].samples_ns.empty()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return candidates_[x].total_ns() < candidates_[y].total_ns();
  });
  return order;
}

std::vector<const Candidate*> Search::preferred() const {
  std::vector<const Candidate*> order;
  for (std::size_t index : ranked()) order.push_back(&candidates_[index]);
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
  const auto order = ranked();
  return order.empty() ? std::numeric_limits<double>::infinity()
                       : candidates_[order.front()].total_ns();
}

void Search::report() const {
  TuneProgress progress{.phase = TunePhase::kSearching, .problem = to_string(problem_)};
  if (const auto order = ranked(); !order.empty()) {
    const Candidate& best = candidates_[order.front()];
    progress.best_gflops = flops(problem_) / best.total_ns();
    progress.roofline_share = bound_ns_ / best.total_ns();
    progress.best_variant = short_name(best.variant);
  }
  context_.progress(progress);
}

void Search::run(double end_s) {
  std::vector<double> analytical(candidates_.size());
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    analytical[i] = analytical_ns(problem_, candidates_[i].variant, context_.rates);
  const auto strategy = make_strategy(context_.options.strategy, analytical, context_.options.seed);
  const auto over = [&] { return context_.over() || now_s() >= end_s; };
  const bool patient = context_.options.strategy == "exhaustive";
  std::vector<std::size_t> pending = seeds();
  for (const std::size_t index : pending) candidates_[index].trusted = true;
  std::vector<Observation> history;
  int without_gain = 0;
  while (!over() && (patient || without_gain < kBatchesWithoutGain)) {
    const double before = best_ns();
    if (before <= kCloseToBound * bound_ns_) return;
    while (pending.size() < kBatch) {
      const std::vector<std::size_t> next = strategy->propose(history, kBatch);
      if (next.empty()) break;
      pending.insert(pending.end(), next.begin(), next.end());
    }
    std::vector<std::size_t> batch;
    while (!pending.empty() && batch.size() < kBatch) {
      const std::size_t index = pending.front();
      pending.erase(pending.begin());
      const RowId id = context_.runner.id(candidates_[index].variant, signature_);
      if (!candidates_[index].tried && !context_.runner.rejected(id) &&
          std::find(batch.begin(), batch.end(), index) == batch.end())
        batch.push_back(index);
    }
    if (batch.empty()) {
      if (pending.empty()) pending = strategy->propose(history, 1);
      if (pending.empty()) return;
      continue;
    }
    const std::size_t spilled_before = context_.runner.spilled();
    const std::vector<Arm> arms = eliminate(
        batch.size(), [&](std::size_t arm, int samples) { return measure(batch[arm], samples); },
        over, {.samples_per_round = 2, .rounds = 2, .keep = 2});
    for (std::size_t i = 0; i < batch.size(); ++i)
      history.push_back({batch[i], arms[i].samples_ns.empty()
                                       ? std::numeric_limits<double>::infinity()
                                       : median(arms[i].samples_ns)});
    if (context_.runner.spilled() - spilled_before == batch.size())
      continue;  // nobody had a chance
    without_gain = best_ns() < kGain * before ? 0 : without_gain + 1;
  }
}

void Search::finals(double end_s) {
  std::vector<std::size_t> order = ranked();
  order.resize(std::min(order.size(), kFinalists));
  if (order.size() < 2) return;
  std::vector<std::vector<double>> fresh(order.size());
  const auto again = [&](std::size_t arm, int samples) {
    Candidate& candidate = candidates_[order[arm]];
    const std::size_t before = candidate.samples_ns.size();
    const auto totals = measure(order[arm], samples);
    fresh[arm].insert(fresh[arm].end(),
                      candidate.samples_ns.begin() + static_cast<std::ptrdiff_t>(before),
                      candidate.samples_ns.end());
    return totals;
  };
  eliminate(order.size(), again, [&] { return context_.over() || now_s() >= end_s; },
            {.samples_per_round = 2, .rounds = 6, .keep = 1});
  // Only when all were timed side by side do the new samples replace the old ones.
  if (std::any_of(fresh.begin(), fresh.end(), [](const auto& samples) { return samples.empty(); }))
    return;
  for (std::size_t arm = 0; arm < order.size(); ++arm)
    candidates_[order[arm]].samples_ns = fresh[arm];
}

const Candidate* Search::find(const Variant& variant) const {
  const auto index = index_of(variant);
  return index ? &candidates_[*index] : nullptr;
}

}  // namespace rooftile
