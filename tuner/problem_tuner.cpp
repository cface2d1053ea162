#include "tuner/problem_tuner.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/numbers/statistics.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/model/predict.h"
#include "runtime/model/roofline.h"
#include "tuner/expected_times.h"
#include "tuner/measure/paired_comparison.h"
#include "tuner/ranked_candidates.h"
#include "tuner/search_finals.h"
#include "tuner/stored/default_comparison.h"
#include "tuner/stored/ranked_list.h"
#include "tuner/stored/stored_winner.h"

namespace rooftile {
namespace {

constexpr std::size_t kRanked = 3;  // Certified kernels in a list, besides default and fallback.
// Shares of the time of finish() at which its parts end. The comparison with the default gets the
// rest: finals order kernels that are nearly equal, while this one decides what is used. Finals
// with operands packed before are left out where packing hardly matters.
constexpr double kSuspectsShare = 0.05, kPrepackedFinalsShare = 0.15, kFinalsShare = 0.5,
                 kCertificatesShare = 0.55;
constexpr double kCertificateMargin = 1.1;  // Of its expected time.
// Waits of finish() while the machine is slowed, and their share of its time.
constexpr double kMostWaitS = 3, kWaitShare = 0.3;
// If the default's compilation is expected to take more than this share of the first look, no other
// kernel is compiled beside it.
constexpr double kSlowCompileShare = 0.15;
// The other problems' ratio of gains to claims counts as much as a claim of this size (log2) for
// the problem itself.
constexpr double kOtherClaims = 0.1;
// After so many batches for whole calls, one is for calls with a packed operand.
constexpr std::size_t kCallBatches = 5;

/// Times the winner and the host's BLAS in turns for up to `seconds`. There is no comparison where
/// the host is predicted to take longer than there is time for: a call of BLAS cannot be stopped.
HostComparison beside_host(const ProblemTunerContext& context, const Problem& problem,
                           const Variant& winner, double seconds) {
  // The first round calls the host three times: once for its time, once untimed, once timed.
  constexpr double kHostCalls = 3;
  std::optional<double> predicted_ns;
  if (context.host_rates != nullptr && is_calibrated(*context.host_rates)) {
    const double plain_ns = predict_host_ns(retyped(problem, {}), *context.host_rates);
    const double left_s = std::min(seconds, context.options.budget_s - context.elapsed_s());
    if (kHostCalls * plain_ns * 1e-9 > left_s) return {};
    // The model of the host covers plain float32 calls only.
    if (is_float32(problem.types) && problem.epilogue == Epilogue{} && problem.batch == 1 &&
        !is_grouped(problem))
      predicted_ns = plain_ns;
  }
  const double end_s = now_s() + seconds;
  const auto scope = context.runner.account().during(Activity::kHost);
  return compare_with_host(
      problem, predicted_ns,
      [&]() -> std::optional<double> {
        const auto reply = context.runner.time(winner, problem, {.samples = 1});
        if (!reply) return std::nullopt;
        return context.runner.level() * (median(reply->kernel_ns) + reply->pack_ns);
      },
      [&] { return context.over() || now_s() >= end_s; });
}

}  // namespace

ProblemTuner::ProblemTuner(const ProblemTunerContext& context, StepCosts& costs, RowId device_row,
                           const TuneProblem& wanted)
    : context_(context),
      costs_(costs),
      device_row_(device_row),
      wanted_(wanted),
      stored_(stored_winner(context.store, context.runner, device_row, wanted.problem)),
      result_{.problem = wanted.problem,
              .bound_ns = problem_bound_ns(wanted.problem, context.rates)} {
  if (!stored_) return;
  before_ = context.store.outcome(device_row, context.store.problem_id(wanted.problem));
  if (before_ && before_->candidate != stored_->candidate.id) before_.reset();
}

ProblemTuner::Over ProblemTuner::until(double end_s) const {
  return [this, end_s] { return context_.over() || now_s() >= end_s; };
}

bool ProblemTuner::undecided() const {
  return before_ && before_->verdict == OutcomeVerdict::kOpen;
}

bool ProblemTuner::settled() const {
  return stored_ && before_ && !undecided() && !search_->measured_now() &&
         !search_->is_exhaustive();
}

bool ProblemTuner::protects_stored() const {
  return stored_ && (!undecided() || context_.runner.rejected(stored_->candidate.id));
}

SearchCourse* ProblemTuner::course() {
  const bool more_calls = !calls_->next().empty();
  if (!search_->packing_matters()) return more_calls ? calls_.get() : nullptr;
  const std::size_t done = prepacked_ != nullptr ? prepacked_->batches() : 0;
  if (calls_->batches() >= kCallBatches * (done + 1) || (!more_calls && done == 0)) {
    if (prepacked_ == nullptr)
      prepacked_ = std::make_unique<SearchCourse>(*search_, Objective::kPrepacked);
    if (!prepacked_->next().empty()) return prepacked_.get();
  }
  return more_calls ? calls_.get() : nullptr;
}

StepOffer ProblemTuner::offer() {
  StepOffer offer{.stage = stage_,
                  .undecided = undecided(),
                  .weight = wanted_.weight,
                  .searched_s = searched_s_};
  if (stage_ == TuneStage::kFirstLook && first_known_)
    offer.waits = search_->is_compiling({default_candidate(), *first_known_});
  if (stage_ == TuneStage::kFirstLook || stage_ == TuneStage::kDone) return offer;
  offer.finish_s = settled() ? 0 : finals_s(*search_, costs_);
  if (stage_ == TuneStage::kFinish) return offer;
  SearchCourse* next = course();
  if (next == nullptr) {
    offer.stage = stage_ = TuneStage::kFinish;
    return offer;
  }
  offer.gain = next->claim() ? *next->claim() * claim_ratio() : costs_.gain(next->batches());
  const std::vector<std::size_t>& batch = next->next();
  offer.cost_s = batch_s(*search_, costs_, batch) * costs_.time_ratio();
  offer.waits = search_->is_compiling(batch);
  offer.first_s = batch_s(*search_, costs_, {batch.front()}) * costs_.time_ratio();
  return offer;
}

std::size_t ProblemTuner::first_known() {
  if (!first_known_) first_known_ = search_->best_known().value_or(default_candidate());
  return *first_known_;
}

void ProblemTuner::compile_ahead(const TuneStep& step, Wanted wanted) {
  if (step.stage == TuneStage::kFirstLook && has_search())
    search_->compile_ahead({default_candidate(), first_known()}, wanted);
  if (step.stage == TuneStage::kFinish)
    if (const auto naive = search_->index_of(fallback_variant()))
      search_->compile_ahead({*naive}, wanted);
  if (step.stage != TuneStage::kSearch) return;
  SearchCourse* const next = course();
  if (next != nullptr && batch_s(*search_, costs_, next->next()) <= step.seconds)
    search_->compile_ahead(next->next(), wanted);
}

void ProblemTuner::take(const TuneStep& step) {
  const CandidateRunner& runner = context_.runner;
  const std::size_t measured = runner.measured(), rejected = runner.failures(),
                    spilled = runner.spilled();
  const std::size_t timed = runner.timed();
  const double around_s = runner.around_s();
  switch (step.stage) {
    case TuneStage::kFirstLook:
      first_look(step.seconds);
      break;
    case TuneStage::kSearch:
      search(step.seconds);
      break;
    case TuneStage::kFinish:
      finish(step.seconds);
      break;
    case TuneStage::kDone:
      break;
  }
  costs_.requested(runner.timed() - timed, runner.around_s() - around_s);
  result_.measured += runner.measured() - measured;
  result_.rejected += runner.failures() - rejected;
  result_.spilled += runner.spilled() - spilled;
}

void ProblemTuner::measure_first(std::size_t index) {
  search_->trust(index);
  if (!search_->candidates()[index].samples_ns.empty()) return;
  search_->measure(index, search_->round_samples(kSearchSamples));
  learn({index});
}

void ProblemTuner::store_first(double end_s) {
  if (protects_stored()) return;
  std::vector<WinnerRecord> list = certified_list(end_s, undecided() ? kRanked : 1);
  if (list.empty()) return;
  QuietWait none;
  const Standing standing = undecided() ? this->standing(list, until(end_s), none) : Standing{};
  if (!list.empty()) store(list, standing);
}

bool ProblemTuner::has_search() {
  if (search_ == nullptr && !unfit_) {
    unfit_ = !context_.runner.fits(wanted_.problem);
    if (!unfit_) search_ = std::make_unique<Search>(context_, device_row_, wanted_.problem);
    if (!unfit_ && search_->candidates().empty()) {
      unfit_ = true;
      search_ = nullptr;
    }
  }
  return !unfit_;
}

void ProblemTuner::first_look(double seconds) {
  const double end_s = now_s() + seconds;
  const Over over = until(end_s);
  stage_ = TuneStage::kDone;
  if (!has_search()) return;
  stage_ = TuneStage::kSearch;
  const std::size_t own = default_candidate();
  result_.default_kernel = short_name(search_->candidates()[own].variant);
  const std::size_t known = first_known();
  const double compile_s = costs_.compile_s(work_of(*search_, search_->candidates()[own].variant));
  if (known != own && compile_s <= kSlowCompileShare * seconds)
    search_->compile_ahead({own, known});
  measure_first(own);
  if (!over()) measure_first(known);
  store_first(end_s);
  calls_ = std::make_unique<SearchCourse>(*search_, Objective::kCall);
}

void ProblemTuner::learn(const std::vector<std::size_t>& batch) {
  for (const std::size_t index : batch) {
    const Candidate& candidate = search_->candidates()[index];
    if (candidate.compile_ns > 0)
      costs_.compiled(work_of(*search_, candidate.variant), candidate.compile_ns * 1e-9);
  }
}

void ProblemTuner::search(double seconds) {
  SearchCourse* next = course();
  if (next == nullptr) return;
  const std::vector<std::size_t> batch = next->next();
  const std::size_t number = next->batches();
  const double expected_s = batch_s(*search_, costs_, batch), start_s = now_s();
  // Where the time may end within the batch, what compiles faster is measured before the rest is
  // compiled.
  if (expected_s <= seconds) search_->compile_ahead(batch);
  const BatchResult found = next->run(until(start_s + seconds));
  const double taken_s = now_s() - start_s;
  searched_s_ += taken_s;
  learn(batch);
  if (context_.over()) return;  // The batch was cut short.
  costs_.took(taken_s, expected_s);
  if (!found.log2_gain) return;
  if (!found.log2_claim) return costs_.gained(number, *found.log2_gain);
  costs_.claimed(*found.log2_claim, *found.log2_gain);
  claimed_ += *found.log2_claim;
  realized_ += std::max(0.0, *found.log2_gain);
}

// A strategy may claim much for one problem again and again, and find nothing there.
double ProblemTuner::claim_ratio() const {
  return (kOtherClaims * costs_.claim_ratio() + realized_) / (kOtherClaims + claimed_);
}

bool ProblemTuner::certified(const Variant& variant) {
  const Signature& signature = search_->signature();
  const RowId id = context_.runner.id(variant, signature);
  const bool known = context_.store.certificate(device_row_, id, kGeneratorVersion).has_value();
  const double start_s = now_s();
  const bool passed = context_.runner.certified(variant, signature);
  if (!known && !context_.over()) costs_.certified(now_s() - start_s);
  return passed;
}

bool ProblemTuner::is_slower_than_default(const Candidate& candidate) const {
  const Candidate& own = search_->candidates()[default_candidate()];
  if (&candidate == &own || search_->is_rejected(default_candidate())) return false;
  return !own.tried || candidate.total_ns() > kEqualTimes * own.total_ns();
}

// A kernel whose certificate would take longer than there is time for waits for a later step,
// unless the problem has no kernel at all. Empty where the best one is slower than the default: a
// run does not make programs slower than they were without it.
std::vector<WinnerRecord> ProblemTuner::certified_list(double end_s, std::size_t most) {
  context_.progress({.phase = TunePhase::kCertifying, .problem = to_string(wanted_.problem)});
  std::vector<const Candidate*> list =
      ranked_candidates(*search_,
                        {.most = most,
                         .default_kernel = search_->candidates()[default_candidate()].variant,
                         .others = most > 1},
                        [&](const Variant& v) {
                          const double seconds = certificate_s(*search_, costs_, v);
                          return (seconds == 0 || seconds <= end_s - now_s()) && certified(v);
                        });
  if (!list.empty() && is_slower_than_default(*list.front())) list.clear();
  if (list.empty() && !stored_ && result_.winner.empty()) {
    std::vector<const Candidate*> order = search_->preferred();
    std::erase_if(order, [&](const Candidate* x) { return is_slower_than_default(*x); });
    const auto first = std::ranges::find_if(
        order, [&](const Candidate* candidate) { return certified(candidate->variant); });
    if (first != order.end()) list.push_back(*first);
  }
  return winner_records(*search_, list);
}

RowId ProblemTuner::default_row() const {
  return context_.runner.id(search_->candidates()[default_candidate()].variant,
                            search_->signature());
}

Standing ProblemTuner::standing(std::vector<WinnerRecord>& list, const Over& over,
                                QuietWait& wait) {
  const PairOptions options = {
      .samples = search_->round_samples(kFinalSamples), .over = over, .wait = &wait};
  CandidateRunner& runner = context_.runner;
  if (protects_stored() && search_->find(stored_->candidate.variant) != nullptr) {
    keep_stored_winner(context_.store, runner, *stored_, list, options);
    if (list.empty()) return {};
    const bool kept = list.front().candidate == stored_->candidate.id;
    if (before_ && kept) return {.verdict = before_->verdict, .confidence = before_->confidence};
    if (before_ && !runner.blocked(stored_->candidate.id))
      return {.verdict = OutcomeVerdict::kFaster, .confidence = kPairedConfidence};
  }
  return compare_with_default(context_.store, runner, wanted_.problem, default_row(), list,
                              options);
}

void ProblemTuner::store(const std::vector<WinnerRecord>& list, const Standing& standing) {
  store_ranked(context_.store, device_row_, wanted_.problem, list);
  const RowId own = default_row();
  OutcomeRecord outcome{.problem = context_.store.problem_id(wanted_.problem),
                        .candidate = list.front().candidate,
                        .verdict = standing.verdict,
                        .confidence = standing.confidence,
                        .tried = search_->tried()};
  const Candidate& default_kernel = search_->candidates()[default_candidate()];
  if (!context_.runner.blocked(own) && !default_kernel.samples_ns.empty()) {
    const auto record = std::ranges::find(list, own, &WinnerRecord::candidate);
    outcome.default_candidate = own;
    // Times of an open comparison were not taken side by side.
    if (outcome.verdict != OutcomeVerdict::kOpen)
      outcome.default_ns = record != list.end()
                               ? record->kernel_ns + record->pack_ns
                               : context_.runner.level() * default_kernel.total_ns();
  }
  context_.store.put_outcome(device_row_, outcome);
  if (outcome.verdict != OutcomeVerdict::kOpen) {
    stored_ = stored_winner(context_.store, context_.runner, device_row_, wanted_.problem);
    before_ = outcome;
  }
  describe(list.front(), outcome);
}

void ProblemTuner::describe(const WinnerRecord& winner, const OutcomeRecord& outcome) {
  result_.winner = short_name(context_.store.candidate(winner.candidate).value().variant);
  result_.kernel_ns = winner.kernel_ns;
  result_.pack_ns = winner.pack_ns;
  result_.verdict = outcome.verdict;
  result_.confidence = outcome.confidence;
  result_.default_ns = outcome.default_ns.value_or(0);
}

void ProblemTuner::compare(double start_s, double seconds) {
  const auto share = [&](double part) { return until(start_s + part * seconds); };
  QuietWait wait(std::min(kMostWaitS, kWaitShare * seconds), share(1), &context_.runner.account());
  try_suspects(*search_, share(kSuspectsShare));
  if (search_->packing_matters())
    run_finals(*search_, Objective::kPrepacked, wait, share(kPrepackedFinalsShare));
  run_finals(*search_, Objective::kCall, wait, share(kFinalsShare));
  // The best kernel's certificate may take more than its share: nothing is worth more.
  const auto order = search_->preferred();
  const double best_s =
      order.empty() ? 0
                    : kCertificateMargin * certificate_s(*search_, costs_, order.front()->variant);
  if (const auto naive = search_->index_of(fallback_variant());
      naive && !share(kFinalsShare)() &&
      now_s() + compile_left_s(*search_, costs_, fallback_variant()) + best_s <= start_s + seconds)
    measure_first(*naive);
  const double certificates_end_s =
      std::clamp(now_s() + best_s, start_s + kCertificatesShare * seconds, start_s + seconds);
  std::vector<WinnerRecord> list = certified_list(certificates_end_s, kRanked);
  const Standing standing = list.empty() ? Standing{} : this->standing(list, share(1), wait);
  if (!list.empty()) store(list, standing);
}

void ProblemTuner::finish(double seconds) {
  const double start_s = now_s();
  stage_ = TuneStage::kDone;
  if (!settled()) compare(start_s, seconds);
  describe_stored();
  result_.tried = search_->tried();
  if (const Candidate* naive = search_->find(fallback_variant());
      naive != nullptr && !naive->samples_ns.empty())
    result_.naive_ns = context_.runner.level() * naive->total_ns();
  if (!result_.winner.empty() && !context_.over()) add_host(start_s + seconds);
}

void ProblemTuner::add_host(double end_s) {
  const auto first = stored_winner(context_.store, context_.runner, device_row_, wanted_.problem);
  if (!first) return;
  const Variant& winner = first->candidate.variant;
  context_.runner.count(winner, wanted_.problem, result_.kernel_ns);
  result_.host = beside_host(context_, wanted_.problem, winner, end_s - now_s());
}

// Where there is no new kernel, the stored ones stay.
void ProblemTuner::describe_stored() {
  if (!result_.winner.empty() || !stored_) return;
  const OutcomeRecord unknown;
  describe({.candidate = stored_->candidate.id,
            .kernel_ns = stored_->kernel_ns,
            .pack_ns = stored_->pack_ns},
           before_ ? *before_ : unknown);
}

void ProblemTuner::end() {
  if (stage_ == TuneStage::kSearch || stage_ == TuneStage::kFinish) finish(0);
  describe_stored();
}

}  // namespace rooftile
