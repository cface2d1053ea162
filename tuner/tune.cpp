#include "tuner/tune.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "core/error.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/model/calibration.h"
#include "runtime/staging.h"
#include "tuner/candidate_runner.h"
#include "tuner/imported_lists.h"
#include "tuner/portfolio_tuner.h"
#include "tuner/problem_tuner.h"
#include "tuner/settle_journal.h"
#include "tuner/slices.h"
#include "tuner/thermal.h"
#include "tuner/worker_process.h"

namespace rooftile {
namespace {

constexpr double kDefaultCacheBytes = 64e6;  // when no cache plateau was found
constexpr double kRefreshShare = 0.5;        // of the budget, at most
constexpr double kReferenceNs = 1e6;         // of the reference kernel, about
constexpr double kPortfolioShare = 0.15;     // of the budget, for problems that are not tuned
constexpr double kPastCache = 2;             // operands are rotated over this many times the cache
constexpr double kMostCacheBytes = 128e6;    // of which: larger ones, nobody's kernel has to itself

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
  const ReferenceKernel reference = {default_variant(device), packed_problem(size, size, size)};
  const Problem staged = staged_problem(reference.problem);
  if (illegal_reason(reference.variant, device.limits, staged, own_buffers(staged)))
    return std::nullopt;
  return reference;
}

}  // namespace

TuneReport tune(Store& store, const DeviceProfile& device, const TuneOptions& options,
                const TuneCallbacks& callbacks, const std::atomic<bool>& stop) {
  if (options.problems.empty() && !options.refresh_only)
    fail(ErrorCode::kInvalidArgument, "no problem to tune");
  if (!(options.budget_s > 0))
    fail(ErrorCode::kInvalidArgument, "the budget is {} s; it must be positive", options.budget_s);
  const std::span<const TuneProblem> problems =
      options.refresh_only ? std::span<const TuneProblem>() : options.problems;
  Budget budget(options.budget_s);
  const RowId device_row = store.device_id(device);
  settle_journal(store, device_row, callbacks.message);
  const nlohmann::json settings = {{"budget_s", options.budget_s},
                                   {"strategy", options.strategy},
                                   {"seed", options.seed},
                                   {"problems", problems.size()}};
  const RowId run = store.begin_run(device_row, kGeneratorVersion, settings.dump());

  TuneReport report;
  TuneProgress base{.phase = TunePhase::kCalibrating,
                    .budget_s = options.budget_s,
                    .problems_total = problems.size()};
  WorkerProcess worker = device_worker(options.worker, device);
  const auto runner_options = [&](const DeviceRates& rates) {
    return RunnerOptions{.device = device_row,
                         .run = run,
                         .compute_units = std::max(1.0, rates.compute_units),
                         .rotate_bytes = rotated_bytes(rates),
                         .reference = reference_kernel(device, rates),
                         .counters = options.counters,
                         .message = callbacks.message};
  };
  const double refresh_end_s =
      options.refresh_only ? budget.seconds() : kRefreshShare * budget.seconds();
  const auto use_imported = [&](CandidateRunner& runner) {
    const ImportedWork work = imported_work(store, device, device_row);
    if (work.empty()) return;
    report.imported = certify_imported(
        store, runner, device_row, work,
        {.over = [&] { return stop.load() || budget.elapsed_s() >= refresh_end_s; },
         .progress =
             [&](const Problem& problem) {
               base.phase = TunePhase::kImporting;
               base.elapsed_s = budget.elapsed_s();
               base.problem = to_string(problem);
               if (callbacks.progress) callbacks.progress(base);
             },
         .message = callbacks.message});
    if (callbacks.imported) callbacks.imported(report.imported);
  };
  Calibration calibration;
  const std::optional<Calibration> known =
      options.recalibrate ? std::nullopt : known_calibration(store, device);
  const Calibration theirs = calibration_from_figures(store.latest_calibration(device_row));
  if (!known && is_calibrated(theirs.device)) {
    CandidateRunner runner(store, worker, budget, stop, runner_options(theirs.device));
    use_imported(runner);
    report.failed = runner.failures();
    report.lost_s = runner.lost_s();
  }
  if (!known && callbacks.progress) callbacks.progress(base);
  const double before_calibration_s = budget.elapsed_s();
  if (known) {
    calibration = *known;
  } else if (const auto calibrated = calibrate(store, device, worker, callbacks.message, stop)) {
    calibration = calibration_from_figures(calibrated->figures);
    report.calibration_s = calibrated->elapsed_s;
    if (callbacks.calibrated) callbacks.calibrated(*calibrated);
  } else if (callbacks.message) {
    callbacks.message("interrupted while calibrating: no figure was stored");
  }
  budget.leave_out(budget.elapsed_s() - before_calibration_s);

  const Thermal thermal_before = read_thermal();
  CandidateRunner runner(store, worker, budget, stop, runner_options(calibration.device));
  const std::vector<Variant> space = legal_variants(device.limits);
  const double portfolio_s = options.refresh_only ? 0.0 : kPortfolioShare * budget.seconds();
  double reserved_s = portfolio_s;
  const auto over = [&] { return stop.load() || budget.left_s() <= reserved_s; };
  const ProblemTunerContext context = {.store = store,
                                       .runner = runner,
                                       .device = device,
                                       .rates = calibration.device,
                                       .space = space,
                                       .options = options,
                                       .over = over,
                                       .elapsed_s = [&] { return budget.elapsed_s(); },
                                       .progress =
                                           [&](TuneProgress& progress) {
                                             progress.elapsed_s = budget.elapsed_s();
                                             progress.budget_s = budget.seconds();
                                             progress.problems_done = report.results.size();
                                             progress.problems_total = problems.size();
                                             progress.candidates_measured = runner.measured();
                                             progress.candidates_rejected = runner.failures();
                                             if (callbacks.progress) callbacks.progress(progress);
                                           },
                                       .host_rates = &calibration.host};
  report.refresh = refresh(store, runner, device_row, stale_lists(store, device, device_row),
                           {.over = [&] { return over() || budget.elapsed_s() >= refresh_end_s; },
                            .progress =
                                [&](const Problem& problem) {
                                  TuneProgress progress{.phase = TunePhase::kRefreshing,
                                                        .problem = to_string(problem)};
                                  context.progress(progress);
                                }});
  if (report.refresh.stale > 0 && callbacks.refreshed) callbacks.refreshed(report.refresh);
  if (!stop.load() && report.imported.elapsed_s == 0) use_imported(runner);
  const std::vector<double> weights =
      slice_weights(problems, default_variant(device), calibration.device);
  for (std::size_t i = 0; i < problems.size() && !over(); ++i) {
    report.results.push_back(tune_problem(context, device_row, problems[i].problem,
                                          slice_s(weights, i, budget.left_s() - reserved_s)));
    const Thermal thermal = read_thermal();
    RunConditions& conditions = report.conditions;
    conditions.highest_c = std::max(conditions.highest_c, thermal.highest_c);
    if (thermal.throttle_events)
      conditions.throttle_events =
          *thermal.throttle_events - thermal_before.throttle_events.value_or(0);
    if (callbacks.problem_finished) callbacks.problem_finished(report.results.back());
  }
  std::vector<Problem> tuned;
  for (const TuneResult& result : report.results)
    if (!result.winner.empty()) tuned.push_back(result.problem);
  reserved_s = 0;
  if (!stop.load())
    report.untuned =
        tune_portfolios(context, device_row, tuned, std::min(portfolio_s, budget.left_s()));
  report.interrupted = stop.load();
  report.out_of_budget = !report.interrupted && (report.results.size() < problems.size() ||
                                                 (options.refresh_only && budget.left_s() <= 0));
  report.elapsed_s = budget.elapsed_s();
  report.noise = runner.noise();
  report.failed += runner.failures();
  report.lost_s += runner.lost_s();
  store.end_run(run,
                report.interrupted     ? "interrupted"
                : report.out_of_budget ? "budget"
                                       : "finished",
                report.conditions);
  base.phase = TunePhase::kFinished;
  base.elapsed_s = report.elapsed_s;
  base.problems_done = report.results.size();
  if (callbacks.progress) callbacks.progress(base);
  return report;
}

}  // namespace rooftile
