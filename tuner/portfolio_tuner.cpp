#include "tuner/portfolio_tuner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/clock.h"
#include "generator/priors/default_kernel.h"
#include "generator/space.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "tuner/problems/portfolio_problems.h"

namespace rooftile {
namespace {

// A kernel costs its compilation before it is measured, so a short slice has few.
constexpr std::size_t kMostContenders = 24, kLeastContenders = 3;
constexpr double kContenderS = 2;
constexpr double kNear = 1.1;  // of the best time: such a kernel may be the best elsewhere
constexpr std::size_t kMostProblems = 64, kLeastProblems = 24;
constexpr double kMeasuringShare = 0.7;  // of a class's slice; certificates follow
// Of a kernel in a round. A few: neighbours in time err together, and rounds say more than samples.
constexpr int kSamples = 2, kMostSamples = 6;
constexpr double kSampledNs = 1.5e6;  // of product time in all, where it takes more than kSamples
// A round each: times the best time up to which a kernel is measured again. Everyone is twice: a
// first time may have been disturbed, and each half of the rounds needs one.
constexpr double kAnyRatio = std::numeric_limits<double>::infinity();
constexpr std::array kHopefulRatios = {kAnyRatio, kAnyRatio, 3.0, 1.5, 1.5, 1.5};
constexpr std::size_t kRunsASample = 2;  // the untimed one, the operands, the check
constexpr double kCutRatio = 8;          // of the best time: not measured, only known to be slower
constexpr double kFirstLimitNs = 1e9;    // before there is a best
// After so many problems a kernel that was never this close to the best is given up.
constexpr std::size_t kScreening = 8;
constexpr double kScreeningRatio = 1.2;

struct Contender {
  Variant variant;
  RowId id = 0;
  std::vector<MeasuredTime> times = {};
  bool given_up = false;

  const MeasuredTime* time_on(const Problem& p) const {
    const auto found = std::ranges::find_if(times, [&](const MeasuredTime& t) {
      return t.m == p.m && t.n == p.n && t.k == p.k && t.batch == p.batch;
    });
    return found == times.end() ? nullptr : &*found;
  }
  void add_time(const Problem& p, double ns,
                const std::optional<std::array<double, 2>>& half_ns = {}) {
    times.push_back({.m = p.m, .n = p.n, .k = p.k, .batch = p.batch, .ns = ns, .half_ns = half_ns});
  }
};

/// Shortest times of the rounds with even and with odd numbers; infinite before the first of them.
class RoundTimes {
 public:
  void add(std::size_t round, double ns) {
    double& half = half_ns_[round % 2];
    half = std::min(half, ns);
  }
  double ns() const { return std::ranges::min(half_ns_); }
  const std::array<double, 2>& half_ns() const { return half_ns_; }

 private:
  std::array<double, 2> half_ns_ = {std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::infinity()};
};

/// Whether the regret of choosing from a class's kernels is estimated.
enum class Estimate : std::uint8_t { kYes, kNo };

class ClassPortfolio {
 public:
  ClassPortfolio(const ProblemTunerContext& context, RowId device_row,
                 std::span<const Problem> tuned, double slice_s)
      : context_(context),
        device_row_(device_row),
        tuned_(tuned),
        slice_s_(slice_s),
        signature_(signature_of(tuned.front())) {
    collect();
  }

  void measure();
  /// Returns the regrets that are to be expected; none without an estimate.
  std::vector<double> store(Estimate estimate);

 private:
  std::optional<RegretRecord> regret_of(const CrossValidation& validation) const;
  void collect();
  void add(const Variant& variant);
  bool legal(const Contender& contender, const Problem& p) const;
  double max_flops() const;
  bool measure(const Problem& p);
  std::optional<std::map<std::size_t, RoundTimes>> compare(const std::vector<std::size_t>& group,
                                                           const Problem& p);
  /// Nowhere nearly as fast as the fastest of them.
  std::vector<std::size_t> hopeless(const std::vector<std::size_t>& among) const;
  void give_up_hopeless();
  std::vector<MeasuredKernel> measured(const std::vector<std::size_t>& of) const;
  /// The best of them, as choose_portfolio says.
  std::vector<std::size_t> cover(const std::vector<std::size_t>& of) const;
  /// Those that take operands whose leading dimensions vectors do not divide, as resident ones may
  /// lie.
  std::vector<std::size_t> those_for_unaligned(std::vector<std::size_t> contenders) const;

  const ProblemTunerContext& context_;
  const RowId device_row_;
  const std::span<const Problem> tuned_;
  const double slice_s_, start_s_ = now_s();
  const Signature signature_;
  std::vector<Contender> contenders_;
  double best_gflops_ = 0;
};

void ClassPortfolio::add(const Variant& variant) {
  if (variant.reduction == Reduction::kAtomic && !context_.options.atomics) return;
  if (illegal_reason(variant, context_.device.limits, signature_)) return;
  const auto known = std::ranges::find(contenders_, variant, &Contender::variant);
  if (known != contenders_.end()) {
    known->given_up = false;
    return;
  }
  const double affordable =
      std::clamp(slice_s_ / kContenderS, static_cast<double>(kLeastContenders),
                 static_cast<double>(kMostContenders));
  if (static_cast<double>(std::ranges::count(contenders_, false, &Contender::given_up)) >=
      affordable)
    return;
  const RowId id = context_.runner.id(variant, signature_);
  if (!context_.runner.rejected(id)) contenders_.push_back({.variant = variant, .id = id});
}

// The class's portfolio and winners first, then what has won or was close elsewhere: a class of few
// problems, all large, says little of small and thin ones.
void ClassPortfolio::collect() {
  for (const PortfolioKernel& kernel :
       context_.store.measured_portfolio(device_row_, to_string(signature_))) {
    const RowId id = context_.runner.id(kernel.candidate.variant, signature_);
    // Of another template now: its times are those of another kernel.
    if (id != kernel.candidate.id || context_.runner.blocked(id)) continue;
    contenders_.push_back({.variant = kernel.candidate.variant,
                           .id = id,
                           .times = kernel.times,
                           .given_up = !kernel.place});
  }
  const std::vector<RankedKernel> winners = context_.store.winners(device_row_);
  for (const RankedKernel& winner : winners) {
    const TunedKernel& kernel = winner.kernel;
    if (signature_of(kernel.problem) != signature_) continue;
    if (kernel.rank == 0) add(kernel.candidate.variant);
    if (kernel.kernel_ns > 0)
      best_gflops_ = std::max(best_gflops_, flops(kernel.problem) / kernel.kernel_ns);
  }
  for (const Problem& p : tuned_) add(default_kernel(context_.device, staged_problem(p)));
  for (const RankedKernel& winner : winners)
    if (winner.kernel.rank == 0 && winner.kernel.problem.types == signature_.types)
      add(winner.kernel.candidate.variant);
  const std::vector<Problem> scattered =
      portfolio_problems(tuned_, std::numeric_limits<double>::infinity(), kLeastProblems);
  for (const Problem& p : scattered)
    for (const Prior& prior : priors_for(context_.device, p)) add(prior.variant);
  for (const Problem& p : tuned_) {
    double best_ns = std::numeric_limits<double>::infinity();
    std::map<RowId, double> ns;
    for (const SampleRecord& sample :
         context_.store.samples(device_row_, context_.store.problem_id(p)))
      if (sample.status == SampleStatus::kMeasured) {
        ns[sample.candidate] = sample.kernel.median_ns + sample.pack_ns;
        best_ns = std::min(best_ns, ns[sample.candidate]);
      }
    for (const auto& [id, time] : ns)
      if (time <= kNear * best_ns)
        if (const auto candidate = context_.store.candidate(id)) add(candidate->variant);
  }
  add(fallback_variant());
  for (const Problem& p : scattered) {
    if (context_.over()) return;  // each looks at the whole space
    if (const auto predicted =
            predicted_for_portfolio(context_.space, context_.device.limits, p, context_.rates))
      add(*predicted);
  }
}

bool ClassPortfolio::legal(const Contender& contender, const Problem& p) const {
  const Problem staged = staged_problem(p);
  return !illegal_reason(contender.variant, context_.device.limits, staged, own_buffers(staged));
}

// So that the slice is enough for some problems of this size at the class's best rate.
double ClassPortfolio::max_flops() const {
  const double runs = static_cast<double>(std::max<std::size_t>(contenders_.size(), 1) *
                                          kHopefulRatios.size() * (kSamples + kRunsASample));
  return best_gflops_ * kMeasuringShare * slice_s_ * 1e9 / (runs * kLeastProblems);
}

int samples_of(double product_ns) {
  return static_cast<int>(std::clamp<double>(kSampledNs / product_ns, kSamples, kMostSamples));
}

/// Times of the group, interleaved; nothing when interrupted. The shortest ones count: whatever
/// disturbs a measurement only ever adds to it.
std::optional<std::map<std::size_t, RoundTimes>> ClassPortfolio::compare(
    const std::vector<std::size_t>& group, const Problem& p) {
  std::map<std::size_t, RoundTimes> times;
  double best_ns = std::numeric_limits<double>::infinity();
  for (std::size_t round = 0; round < kHopefulRatios.size(); ++round) {
    for (const std::size_t index : group) {
      const bool hopeless =
          times.contains(index) && times[index].ns() > kHopefulRatios[round] * best_ns;
      if (context_.runner.rejected(contenders_[index].id) || hopeless) continue;
      const double limit_ns = std::isfinite(best_ns) ? kCutRatio * best_ns : kFirstLimitNs;
      const auto reply = context_.runner.time(contenders_[index].variant, p,
                                              {.samples = samples_of(best_ns),
                                               .limit_ns = limit_ns,
                                               .purpose = SamplePurpose::kPortfolio});
      if (context_.over()) return std::nullopt;
      if (context_.runner.rejected(contenders_[index].id)) continue;
      const double ns = reply ? std::ranges::min(reply->kernel_ns) + reply->pack_ns : limit_ns;
      times[index].add(round, ns);
      best_ns = std::min(best_ns, ns);
    }
  }
  return times;
}

/// False when interrupted. A problem that is known but for some kernels gives them times on the
/// scale of the known ones: its best kernel is measured again beside them.
bool ClassPortfolio::measure(const Problem& p) {
  std::vector<std::size_t> group;
  std::optional<std::size_t> reference;
  double reference_ns = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    Contender& contender = contenders_[i];
    if (const MeasuredTime* known = contender.time_on(p)) {
      if (known->ns < reference_ns) {
        reference = i;
        reference_ns = known->ns;
      }
    } else if (!legal(contender, p)) {
      contender.add_time(p, std::numeric_limits<double>::infinity());
    } else if (!contender.given_up) {
      group.push_back(i);
    }
  }
  if (group.empty()) return true;
  if (reference) group.insert(group.begin(), *reference);
  context_.progress({.phase = TunePhase::kComparing, .problem = to_string(p)});
  const auto times = compare(group, p);
  if (!times) return false;
  const double scale =
      reference && times->contains(*reference) ? reference_ns / times->at(*reference).ns() : 1.0;
  for (const auto& [index, of_rounds] : *times)
    if (index != reference)
      contenders_[index].add_time(
          p, scale * of_rounds.ns(),
          std::array{scale * of_rounds.half_ns()[0], scale * of_rounds.half_ns()[1]});
  return true;
}

std::vector<std::size_t> ClassPortfolio::hopeless(const std::vector<std::size_t>& among) const {
  const TimeTable table = complete_table(measured(among));
  if (table.problems.size() < kScreening) return {};
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < among.size(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < table.problems.size(); ++j)
      least = std::min(least, table.ns[i][j] / table.problems[j].ns);
    if (least > kScreeningRatio) found.push_back(among[i]);
  }
  return found;
}

void ClassPortfolio::give_up_hopeless() {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < contenders_.size(); ++i)
    if (!contenders_[i].given_up) all.push_back(i);
  const std::vector<std::size_t> unaligned = those_for_unaligned(all),
                                 slow_there = hopeless(unaligned);
  const auto holds = [](const std::vector<std::size_t>& list, std::size_t i) {
    return std::ranges::find(list, i) != list.end();
  };
  for (const std::size_t i : hopeless(all))
    contenders_[i].given_up = !holds(unaligned, i) || holds(slow_there, i);
}

std::vector<MeasuredKernel> ClassPortfolio::measured(const std::vector<std::size_t>& of) const {
  std::vector<MeasuredKernel> kernels;
  for (const std::size_t index : of)
    kernels.push_back({contenders_[index].variant, contenders_[index].times});
  return kernels;
}

std::vector<std::size_t> ClassPortfolio::cover(const std::vector<std::size_t>& of) const {
  std::vector<std::size_t> taken;
  for (const std::size_t at :
       choose_portfolio(complete_table(measured(of)), Selector::kMostKernels))
    taken.push_back(of[at]);
  return taken;
}

std::vector<std::size_t> ClassPortfolio::those_for_unaligned(
    std::vector<std::size_t> contenders) const {
  const Problem& like = tuned_.front();
  Problem odd = packed_problem(101, 103, 107, like.trans_a, like.trans_b, 1, like.types);
  odd.epilogue = like.epilogue;
  std::erase_if(contenders, [&](std::size_t i) {
    return illegal_reason(contenders_[i].variant, context_.device.limits, odd, own_buffers(odd))
        .has_value();
  });
  return contenders;
}

void ClassPortfolio::measure() {
  const double end_s = start_s_ + kMeasuringShare * slice_s_;
  give_up_hopeless();
  if (context_.runner.compiles_beside()) {
    std::vector<Variant> variants;
    for (const Contender& contender : contenders_)
      if (!contender.given_up) variants.push_back(contender.variant);
    context_.runner.compile_ahead(std::move(variants), tuned_.front(), Wanted::kNow);
  }
  for (const Problem& p : portfolio_problems(tuned_, max_flops(), kMostProblems)) {
    if (context_.over() || now_s() >= end_s || !measure(p)) break;
    give_up_hopeless();
  }
  std::erase_if(contenders_, [&](const Contender& c) { return context_.runner.blocked(c.id); });
}

/// What is stored of the class's regrets; nothing when there was nothing to choose between.
std::optional<RegretRecord> ClassPortfolio::regret_of(const CrossValidation& validation) const {
  const Regret selector = summarize_regret(validation.selector),
               nearest = summarize_regret(validation.nearest);
  if (selector.problems == 0) return std::nullopt;
  RegretRecord record = {.signature = to_string(signature_),
                         .problems = selector.problems,
                         .mean = selector.mean,
                         .worst_decile = selector.worst_decile,
                         .worst = selector.worst,
                         .nearest_mean = nearest.mean,
                         .nearest_worst_decile = nearest.worst_decile};
  if (selector.has_median()) {
    record.median = selector.median;
    record.median_low = selector.median_low;
    record.median_high = selector.median_high;
    record.nearest_median = nearest.median;
  }
  return record;
}

std::vector<double> ClassPortfolio::store(Estimate estimate) {
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < contenders_.size(); ++i)
    if (!contenders_[i].given_up && !contenders_[i].times.empty()) usable.push_back(i);
  std::vector<std::size_t> taken, uncertified;
  // Without a certificate a kernel is not there: the others take its place.
  while (true) {
    taken = cover(usable);
    for (const std::size_t index : cover(those_for_unaligned(usable)))
      if (taken.size() < Selector::kMostKernels && std::ranges::find(taken, index) == taken.end())
        taken.push_back(index);
    const auto refused = std::ranges::find_if(taken, [&](std::size_t index) {
      return !context_.runner.certified(contenders_[index].variant, signature_);
    });
    if (refused == taken.end()) break;
    // Refused, or there was no time for it: then it is a loss that one should know of.
    if (!context_.runner.rejected(contenders_[*refused].id)) uncertified.push_back(*refused);
    std::erase(usable, *refused);
  }
  // One kernel beside none says nothing; one beside others that were given up is the fastest.
  const auto compared = std::ranges::count_if(
      contenders_, [](const Contender& contender) { return !contender.times.empty(); });
  CrossValidation validation;
  if (compared >= 2 && estimate == Estimate::kYes)
    validation =
        cross_validate(tuned_.front(), context_.rates, measured(usable), measured(uncertified));
  std::vector<PortfolioRecord> records;
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    const auto place = std::ranges::find(taken, i);
    records.push_back({.candidate = contenders_[i].id,
                       .place = place == taken.end()
                                    ? std::nullopt
                                    : std::optional(static_cast<int>(place - taken.begin())),
                       .times = contenders_[i].times});
  }
  context_.store.put_portfolio(device_row_, to_string(signature_), records, regret_of(validation));
  return validation.selector;
}

}  // namespace

Regret tune_portfolios(const ProblemTunerContext& context, RowId device_row,
                       std::span<const Problem> tuned, double seconds,
                       const SearchedEnough& searched_enough) {
  std::vector<std::vector<Problem>> classes;
  for (const Problem& p : tuned) {
    const auto same = std::ranges::find_if(classes, [&](const std::vector<Problem>& of_class) {
      return signature_of(of_class.front()) == signature_of(p);
    });
    if (same == classes.end())
      classes.push_back({p});
    else
      same->push_back(p);
  }
  // By the root of the number of its problems: what a further problem tells falls with their
  // number, and a class of one tuned problem has kernels to compile as any other. Small ones first:
  // where they take longer than their share, a large one misses it least.
  std::ranges::stable_sort(classes, {}, &std::vector<Problem>::size);
  const auto weight = [](const std::vector<Problem>& of_class) {
    return std::sqrt(static_cast<double>(of_class.size()));
  };
  const double end_s = now_s() + seconds;
  double left = 0;  // of the classes that are still to come
  for (const std::vector<Problem>& of_class : classes) left += weight(of_class);
  std::vector<double> regrets;
  for (const std::vector<Problem>& of_class : classes) {
    if (context.over()) break;
    const double share = weight(of_class) / left;
    left -= weight(of_class);
    ClassPortfolio portfolio(context, device_row, of_class, share * (end_s - now_s()));
    portfolio.measure();
    const auto searched =
        static_cast<std::size_t>(std::ranges::count_if(of_class, searched_enough));
    const std::vector<double> of_portfolio =
        portfolio.store(2 * searched > of_class.size() ? Estimate::kYes : Estimate::kNo);
    regrets.insert(regrets.end(), of_portfolio.begin(), of_portfolio.end());
  }
  return summarize_regret(std::move(regrets));
}

}  // namespace rooftile
