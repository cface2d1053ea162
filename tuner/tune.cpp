#include "tuner/tune.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.h"
#include "generator/priors/default_kernel.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/calibration.h"
#include "runtime/model/gpu/gpu_generation.h"
#include "tuner/measure/free_processors.h"
#include "tuner/measure/thermal.h"
#include "tuner/portfolio_tuner.h"
#include "tuner/search/strategy.h"
#include "tuner/stored/imported_lists.h"
#include "tuner/tune_problems.h"
#include "tuner/worker/candidate_runner.h"
#include "tuner/worker/compiler_pool.h"
#include "tuner/worker/settle_journal.h"
#include "tuner/worker/worker_process.h"

namespace rooftile {
namespace {

constexpr double kDefaultCacheBytes = 64e6;  // when no cache plateau was found
constexpr double kRefreshShare = 0.5;        // of the budget, at most
constexpr double kReferenceNs = 1e6;         // of the reference kernel, about
constexpr double kPortfolioShare = 0.1;      // of the budget, for problems that are not tuned
// Operands are rotated over this many times the cache. Calibration sees a power of two of it, which
// may be half, and over twice its size a cache keeps a part of what rotates: with 2 the winner for
// one row of Q8_0 on an EPYC took 1.27 of the time of another one where its weights came from
// memory.
constexpr double kPastCache = 4;
constexpr double kMostCacheBytes = 128e6;  // of a cache: no kernel has a larger one to itself

/// What operands are rotated over, so that no cache holds them all.
double rotated_bytes(const DeviceRates& rates) {
  const double cache = cache_bytes(rates);
  return kPastCache * (cache > 0 ? std::min(cache, kMostCacheBytes) : kDefaultCacheBytes);
}

/// The default kernel on a cube that takes it about a millisecond: long against the clock's steps,
/// short against everything else. Nothing where the device cannot run it.
std::optional<ReferenceKernel> reference_kernel(const DeviceProfile& device,
                                                const DeviceRates& rates) {
  if (!is_calibrated(rates)) return std::nullopt;
  const double side = std::cbrt(kReferenceNs * rates.fma_gflops / 2);
  const auto size = static_cast<std::int64_t>(std::clamp(side, 64.0, 2048.0)) / 64 * 64;
  const Problem cube = packed_problem(size, size, size);
  const ReferenceKernel reference = {default_kernel(device, cube), cube};
  const Problem staged = staged_problem(reference.problem);
  if (illegal_reason(reference.variant, device.limits, staged, own_buffers(staged)))
    return std::nullopt;
  return reference;
}

/// One run of tune(), step by step.
class TuneRun {
 public:
  TuneRun(Store& store, const DeviceProfile& device, const TuneOptions& options,
          const TuneCallbacks& callbacks, const std::atomic<bool>& stop)
      : store_(store),
        device_(device),
        options_(options),
        callbacks_(callbacks),
        stop_(stop),
        problems_(options.refresh_only ? std::span<const TuneProblem>() : options.problems),
        budget_(options.budget_s),
        device_row_(store.device_id(device)),
        worker_(device_worker(options.worker, device)),
        compilers_(
            compile_workers(options.worker, device,
                            options.processors > 0 ? options.processors : own_processors().size(),
                            kSearchBatch),
            budget_) {}

  TuneReport run();

 private:
  RowId begin();
  RunnerOptions runner_options(const DeviceRates& rates);
  bool refreshing_is_over() const { return stop_.load() || budget_.elapsed_s() >= refresh_end_s(); }
  double refresh_end_s() const {
    return options_.refresh_only ? budget_.seconds() : kRefreshShare * budget_.seconds();
  }
  bool over() const { return stop_.load() || budget_.left_s() <= reserved_s_; }
  void show(TuneProgress now) const;
  enum class Part : std::uint8_t { kOfTheRun, kOthers };
  void use_imported(CandidateRunner& runner, Part part);
  Calibration calibrated();
  ProblemTunerContext context(CandidateRunner& runner, const Calibration& calibration,
                              const std::vector<Variant>& space);
  void refresh_stale(const ProblemTunerContext& context);
  void tune_problems(const ProblemTunerContext& context, const Thermal& before);
  void tune_for_untuned(const ProblemTunerContext& context, double seconds);
  void finish(const CandidateRunner& runner);

  Store& store_;
  const DeviceProfile& device_;
  const TuneOptions& options_;
  const TuneCallbacks& callbacks_;
  const std::atomic<bool>& stop_;
  const std::span<const TuneProblem> problems_;
  Budget budget_;
  const RowId device_row_;
  RowId run_ = 0;
  WorkerProcess worker_;
  TimeAccount account_;
  CompilerPool compilers_;
  double reserved_s_ = 0;  // of the budget, for what comes after the problems
  TuneReport report_;
};

/// Stores that the run has begun.
RowId TuneRun::begin() {
  settle_journal(store_, device_row_, callbacks_.message);
  const JsonValue settings = {{"budget_s", options_.budget_s},
                              {"strategy", options_.strategy},
                              {"seed", options_.seed},
                              {"problems", problems_.size()}};
  return store_.begin_run(device_row_, kGeneratorVersion, settings.dump());
}

RunnerOptions TuneRun::runner_options(const DeviceRates& rates) {
  return {.device = device_row_,
          .run = run_,
          .compute_units = std::max(1.0, rates.compute_units),
          .rotate_bytes = rotated_bytes(rates),
          .reference = reference_kernel(device_, rates),
          .counters = options_.counters,
          .message = callbacks_.message,
          .compilers = &compilers_,
          .account = &account_,
          .shared_processors = device_.kind == DeviceKind::kSoftware,
          .keeps_operands = !device_.unified_memory};
}

/// Makes what was imported from other machines usable here, if there is any: before the search the
/// lists of the run's problems and the portfolios of their classes, after it the others. Where
/// there is no search, all.
void TuneRun::use_imported(CandidateRunner& runner, Part part) {
  ImportedWork work = imported_work(store_, device_, device_row_);
  // What this machine found itself with another version of the driver comes first.
  for (const StaleList& own : stale_lists(store_, device_, device_row_))
    std::erase_if(work.lists,
                  [&](const ImportedList& list) { return list.problem == own.problem; });
  if (!options_.refresh_only) {
    const auto is_other_part = [&](const auto& belongs) {
      return std::ranges::any_of(problems_, belongs, &TuneProblem::problem) !=
             (part == Part::kOfTheRun);
    };
    std::erase_if(work.lists, [&](const ImportedList& list) {
      return is_other_part([&](const Problem& p) { return p == list.problem; });
    });
    std::erase_if(work.portfolios, [&](const ImportedPortfolio& portfolio) {
      const Signature wanted = signature_of(portfolio.like);
      return is_other_part([&](const Problem& p) { return signature_of(p) == wanted; });
    });
  }
  if (work.empty()) return;
  const ImportedReport done = certify_imported(
      store_, runner, device_row_, work,
      {.over = [&] { return part == Part::kOfTheRun ? refreshing_is_over() : over(); },
       .progress =
           [&](const Problem& problem) {
             show({.phase = TunePhase::kImporting, .problem = to_string(problem)});
           },
       .message = callbacks_.message});
  if (report_.imported.elapsed_s == 0) report_.imported = done;
  if (callbacks_.imported) callbacks_.imported(done);
}

/// What is known of the device, or else measured now, outside of the budget. A device that was
/// never calibrated here may use what was imported before that.
Calibration TuneRun::calibrated() {
  const std::optional<Calibration> known =
      options_.recalibrate ? std::nullopt : known_calibration(store_, device_);
  // Calibrations of version 0.1.0 lack the rate of float64.
  const bool is_whole =
      !device_.limits.float64_arithmetic || (known && known->device.fma_f64_gflops > 0) ||
      std::ranges::none_of(options_.problems,
                           [](const TuneProblem& x) { return is_float64(x.problem.types); });
  if (known && is_whole) return *known;
  Calibration theirs;
  for (const RowId row : certifiable_rows(store_, device_row_))
    if (!is_calibrated(theirs.device))
      theirs = calibration_from_figures(store_.latest_calibration(row));
  if (is_calibrated(theirs.device)) {
    CandidateRunner runner(store_, worker_, budget_, stop_, runner_options(theirs.device));
    use_imported(runner, Part::kOfTheRun);
    report_.failed = runner.failures();
    report_.lost_s = runner.lost_s();
  }
  show({.phase = TunePhase::kCalibrating});
  const double before_s = budget_.elapsed_s();
  Calibration calibration;
  if (const auto measured = calibrate(store_, device_, worker_, callbacks_.message, stop_)) {
    calibration = calibration_from_figures(measured->figures);
    calibration.device.gpu = gpu_generation(device_);
    report_.calibration_s = measured->elapsed_s;
    if (callbacks_.calibrated) callbacks_.calibrated(*measured);
  } else if (callbacks_.message) {
    callbacks_.message("interrupted while calibrating: no measurement was stored");
  }
  const double calibration_s = budget_.elapsed_s() - before_s;
  budget_.leave_out(calibration_s);
  account_.leave_out(calibration_s);
  return calibration;
}

/// Fills in the run's part and passes it on.
void TuneRun::show(TuneProgress now) const {
  if (!callbacks_.progress) return;
  now.elapsed_s = budget_.elapsed_s();
  now.budget_s = options_.budget_s;
  now.problems_done = report_.results.size();
  now.problems_total = problems_.size();
  callbacks_.progress(now);
}

ProblemTunerContext TuneRun::context(CandidateRunner& runner, const Calibration& calibration,
                                     const std::vector<Variant>& space) {
  return {.store = store_,
          .runner = runner,
          .device = device_,
          .rates = calibration.device,
          .space = space,
          .options = options_,
          .over = [this] { return over(); },
          .elapsed_s = [this] { return budget_.elapsed_s(); },
          .progress = [this](const TuneProgress& now) { show(now); },
          .host_rates = &calibration.host};
}

/// Certifies and times the best kernels of lists whose templates have changed since.
void TuneRun::refresh_stale(const ProblemTunerContext& context) {
  report_.refresh = refresh(
      store_, context.runner, device_row_, stale_lists(store_, device_, device_row_),
      {.over = [&] { return over() || refreshing_is_over(); },
       .progress =
           [&](const Problem& problem) {
             context.progress({.phase = TunePhase::kRefreshing, .problem = to_string(problem)});
           }});
  if (report_.refresh.stale > 0 && callbacks_.refreshed) callbacks_.refreshed(report_.refresh);
}

/// Tunes the problems within what is left of the budget. before: when the run began.
void TuneRun::tune_problems(const ProblemTunerContext& context, const Thermal& before) {
  const auto finished = [&](const TuneResult& result) {
    report_.results.push_back(result);
    const Thermal thermal = read_thermal();
    RunConditions& conditions = report_.conditions;
    conditions.highest_c = std::max(conditions.highest_c, thermal.highest_c);
    if (thermal.throttle_events)
      conditions.throttle_events = *thermal.throttle_events - before.throttle_events.value_or(0);
    if (callbacks_.problem_finished) callbacks_.problem_finished(result);
  };
  rooftile::tune_problems(
      context, device_row_, problems_,
      {.left_s = [this] { return budget_.left_s() - reserved_s_; }, .finished = finished});
}

/// Chooses each class's few kernels for problems that are not tuned.
void TuneRun::tune_for_untuned(const ProblemTunerContext& context, double seconds) {
  std::vector<Problem> tuned;
  for (const TuneResult& result : report_.results)
    // Kernels for other groups are those of the nearest tuned ones (KernelRanking).
    if (!result.winner.empty() && !is_grouped(result.problem)) tuned.push_back(result.problem);
  const auto searched_enough = [&](const Problem& p) {
    const auto result = std::ranges::find(report_.results, p, &TuneResult::problem);
    return result != report_.results.end() && result->tried >= kLeastForRegret;
  };
  report_.hardly_searched =
      tuned.size() - static_cast<std::size_t>(std::ranges::count_if(tuned, searched_enough));
  report_.untuned = tune_portfolios(context, device_row_, tuned,
                                    std::min(seconds, budget_.left_s()), searched_enough);
}

void TuneRun::finish(const CandidateRunner& runner) {
  report_.interrupted = stop_.load();
  const bool without_winner =
      std::ranges::find(report_.results, "", &TuneResult::winner) != report_.results.end();
  report_.out_of_budget = !report_.interrupted &&
                          (report_.results.size() < problems_.size() ||
                           ((options_.refresh_only || without_winner) && budget_.left_s() <= 0));
  report_.elapsed_s = budget_.elapsed_s();
  report_.seconds = account_.seconds();
  report_.conditions.seconds = activities_json(report_.seconds);
  report_.noise = runner.noise();
  report_.failed += runner.failures();
  report_.lost_s += runner.lost_s();
  store_.end_run(run_,
                 report_.interrupted     ? "interrupted"
                 : report_.out_of_budget ? "budget"
                                         : "finished",
                 report_.conditions);
  show({.phase = TunePhase::kFinished});
}

TuneReport TuneRun::run() {
  run_ = begin();
  const Calibration calibration = calibrated();
  const Thermal thermal_before = read_thermal();
  CandidateRunner runner(store_, worker_, budget_, stop_, runner_options(calibration.device));
  const std::vector<Variant> space = legal_variants(device_.limits);
  const double portfolio_s = options_.refresh_only ? 0.0 : kPortfolioShare * budget_.seconds();
  reserved_s_ = portfolio_s;
  const ProblemTunerContext context = this->context(runner, calibration, space);
  refresh_stale(context);
  if (!stop_.load() && report_.imported.elapsed_s == 0) use_imported(runner, Part::kOfTheRun);
  tune_problems(context, thermal_before);
  reserved_s_ = 0;
  if (!stop_.load()) tune_for_untuned(context, portfolio_s);
  if (!options_.refresh_only && !over()) use_imported(runner, Part::kOthers);
  finish(runner);
  return std::move(report_);
}

}  // namespace

TuneReport tune(Store& store, const DeviceProfile& device, const TuneOptions& options,
                const TuneCallbacks& callbacks, const std::atomic<bool>& stop) {
  if (options.problems.empty() && !options.refresh_only)
    fail(ErrorCode::kInvalidArgument, "no problem to tune");
  if (!(options.budget_s > 0))
    fail(ErrorCode::kInvalidArgument, "the budget is {} s; it must be positive", options.budget_s);
  return TuneRun(store, device, options, callbacks, stop).run();
}

}  // namespace rooftile
