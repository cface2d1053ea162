#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "db/untuned_advice.h"
#include "report/levels.h"
#include "runtime/model/counted.h"
#include "runtime/model/predict.h"

namespace rooftile {
namespace {

bool same_problem(const ProblemReport& report, const Problem& p) { return report.problem == p; }

RankedReport ranked_report(const TunedKernel& tuned, const DeviceRates& rates) {
  const Roofline bounds = roofline(tuned.problem, tuned.candidate.variant, rates);
  RankedReport ranked{.kernel = short_name(tuned.candidate.variant),
                      .kernel_ns = tuned.kernel_ns,
                      .pack_ns = tuned.pack_ns};
  if (bounds.ns() > 0) {
    ranked.limiter = limiter(bounds).name;
    ranked.over_bound = headroom(bounds, tuned.kernel_ns).over_bound;
  }
  return ranked;
}

ProblemReport problem_report(const TunedKernel& tuned, const Calibration& calibration,
                             const DispatchModel& model, std::optional<CounterSetRecord> counters) {
  const Variant& v = tuned.candidate.variant;
  ProblemReport report{.problem = tuned.problem,
                       .signature = tuned.candidate.signature,
                       .kernel = short_name(v),
                       .variant = v,
                       .kernel_ns = tuned.kernel_ns,
                       .pack_ns = tuned.pack_ns,
                       .bound_ns = problem_bound_ns(tuned.problem, calibration.device),
                       .roofline = roofline(tuned.problem, v, calibration.device),
                       .host_ns = predict_host_ns(tuned.problem, calibration.host),
                       .counters = std::move(counters)};
  const CountedBytes counted =
      report.counters ? counted_bytes(report.counters->counters) : CountedBytes();
  report.roofline = with_counted(std::move(report.roofline), counted, calibration.device);
  const Decision call = decide({.problem = tuned.problem}, model);
  report.call_ns = std::isfinite(call.device_ns) ? call.device_ns : 0;
  if (report.roofline.ns() > 0) {
    report.limiter = limiter(report.roofline);
    report.headroom = headroom(report.roofline, tuned.kernel_ns);
  }
  report.levels = levels(report, calibration.device, call, counted);
  return report;
}

/// The naive kernel stands in the ranked list like any other.
void add_ranked(ProblemReport& report, const TunedKernel& tuned, const DeviceRates& rates,
                const Variant& naive) {
  if (tuned.candidate.variant == naive) report.naive_ns = tuned.kernel_ns + tuned.pack_ns;
  if (tuned.candidate.variant != report.variant)
    report.alternatives.push_back(ranked_report(tuned, rates));
}

std::string stale_reason(const RankedKernel& entry, std::string_view generator_version) {
  if (entry.black_list_reason) return fmt::format("black-listed: {}", *entry.black_list_reason);
  if (entry.verdict == Verdict::kPassed)
    return fmt::format(
        "certified for kernels of version {}, and this version of Rooftile generates version {}",
        entry.generator_version, generator_version);
  if (entry.verdict == Verdict::kNone) return "not certified";
  return fmt::format("certificate {}: {}", name(entry.verdict), entry.verdict_detail);
}

/// Ranked lists without a kernel that may run.
std::vector<StaleReport> stale_lists(const Store& store, RowId device,
                                     const std::vector<ProblemReport>& usable,
                                     std::string_view generator_version) {
  std::vector<StaleReport> stale;
  std::vector<Problem> seen;
  std::vector<UnknownWinner> unknown;
  for (const RankedKernel& entry : store.winners(device, &unknown)) {
    const Problem& p = entry.kernel.problem;
    const auto reported = [&](const ProblemReport& report) { return same_problem(report, p); };
    if (std::ranges::any_of(usable, reported) || std::ranges::find(seen, p) != seen.end()) continue;
    seen.push_back(p);
    stale.push_back({.problem = to_string(p),
                     .kernel = short_name(entry.kernel.candidate.variant),
                     .reason = stale_reason(entry, generator_version)});
  }
  for (const UnknownWinner& entry : unknown)
    stale.push_back({.problem = entry.bucket,
                     .kernel = entry.variant.empty() ? "unknown kernel" : entry.variant,
                     .reason = "this version of Rooftile does not know the kernel or its problem"});
  return stale;
}

/// Of a kernel that another version of Rooftile may have made.
std::string kernel_name(const Store& store, RowId candidate) {
  try {
    const auto known = store.candidate(candidate);
    if (known) return short_name(known->variant);
  } catch (const Error&) {
  }
  return "unknown kernel";
}

void add_outcome(ProblemReport& report, const Store& store, RowId device, RowId winner) {
  const auto outcome = store.outcome(device, report.problem_row);
  if (!outcome || outcome->candidate != winner) return;  // Another kernel has won since.
  report.outcome = outcome;
  if (outcome->default_candidate)
    report.default_kernel = kernel_name(store, *outcome->default_candidate);
}

std::vector<FigureReport> figure_reports(std::vector<Figure> figures,
                                         const std::vector<Figure>& before) {
  std::vector<FigureReport> reports;
  for (Figure& figure : figures) {
    const auto same = std::ranges::find(before, figure.name, &Figure::name);
    FigureReport& report = reports.emplace_back(FigureReport{.figure = std::move(figure)});
    if (same != before.end()) report.before = *same;
  }
  return reports;
}

std::vector<MathRoof> math_roofs(const std::vector<ProblemReport>& problems,
                                 const DeviceRates& rates) {
  std::vector<MathRoof> roofs;
  const auto add = [&](const Types& types) {
    const double gflops = peak_gflops(rates, types);
    const std::string type = to_string(types);
    if (gflops > 0 && std::ranges::find(roofs, type, &MathRoof::type) == roofs.end())
      roofs.push_back({type, gflops});
  };
  add(Types{});
  for (const ProblemReport& problem : problems) add(problem.problem.types);
  return roofs;
}

DispatchModel dispatch_model(const std::vector<TunedKernel>& kernels,
                             const Calibration& calibration, DeviceKind kind) {
  std::vector<TunedTime> times;
  for (const TunedKernel& kernel : kernels)
    if (std::ranges::find(times, kernel.problem, &TunedTime::problem) == times.end())
      times.push_back({.problem = kernel.problem,
                       .ns = kernel.kernel_ns + kernel.pack_ns,
                       .tile_m = kernel.candidate.variant.tile_m,
                       .tile_n = kernel.candidate.variant.tile_n});
  return DispatchModel(calibration, kind, times);
}

/// Whether the row holds only other machines' data, and this machine has a device of its product
/// and driver.
bool serves_device_here(const Store& store, RowId device) {
  return !store.measured_here(device) &&
         std::ranges::any_of(store.nearest_devices(device), [&](const NearDevice& near) {
           return near.is_certifiable() && store.measured_here(near.device);
         });
}

}  // namespace

DeviceReport device_report(const Store& store, const DeviceRecord& record,
                           const RuntimeView& runtime) {
  std::vector<CalibrationRecord> calibrations = store.calibrations(record.id, Provenance::kAny, 2);
  calibrations.resize(2);  // an empty one where there is none
  CalibrationRecord &latest = calibrations[0], &before = calibrations[1];
  DeviceReport report{.row = record.id, .profile = record.profile, .calibrated_at = latest.at};
  const auto [tuned_at, seconds] = store.latest_run_seconds(record.id);
  report.tuned_at = tuned_at;
  report.seconds = parse_activities(seconds);
  report.calibration = calibration_from_figures(latest.figures);
  report.ratios = calibration_ratios(report.calibration);
  report.calibrated_before = before.at;
  report.figures = figure_reports(std::move(latest.figures), before.figures);

  const DeviceRates& rates = report.calibration.device;
  const std::vector<TunedKernel> kernels =
      store.tuned_kernels(record.id, runtime.generator_version);
  const DispatchModel model = dispatch_model(kernels, report.calibration, record.profile.kind);
  for (const TunedKernel& tuned : kernels) {
    // By bucket and rank: the first of a problem is its best.
    auto problem = std::ranges::find(report.problems, tuned.problem, &ProblemReport::problem);
    if (problem == report.problems.end()) {
      const RowId row = store.find_problem(tuned.problem).value_or(0);
      report.problems.push_back(problem_report(tuned, report.calibration, model,
                                               store.counters(record.id, tuned.candidate.id, row)));
      problem = std::prev(report.problems.end());
      problem->problem_row = row;
      if (auto known = store.compiler_facts(record.id, tuned.candidate.id))
        problem->facts = std::move(known->facts);
      add_outcome(*problem, store, record.id, tuned.candidate.id);
    }
    add_ranked(*problem, tuned, rates, runtime.naive);
  }
  std::ranges::stable_sort(report.problems, {},
                           [](const ProblemReport& p) { return flops(p.problem); });
  report.math_roofs = math_roofs(report.problems, rates);
  report.level_roofs = level_roofs(rates);
  report.stale = stale_lists(store, record.id, report.problems, runtime.generator_version);
  for (const ImportedTime& time : store.imported_times(record.id))
    if (std::ranges::find(report.problems, time.problem, &ProblemReport::problem) ==
        report.problems.end())
      report.elsewhere.push_back({.problem = time.problem,
                                  .kernel = kernel_name(store, time.candidate),
                                  .kernel_ns = time.kernel_ns,
                                  .pack_ns = time.pack_ns,
                                  .tried = time.tried});
  for (const BlackListRecord& entry : store.black_listed(record.id))
    report.rejected.push_back({kernel_name(store, entry.candidate), entry.reason});
  report.serves_here = serves_device_here(store, record.id);
  if (report.problems.empty())
    report.advice = report.serves_here
                        ? "it was measured on another machine; `rooftile tune` certifies its "
                          "kernels for the device here"
                        : untuned_advice(store, record);
  return report;
}

Report make_report(const Store& store, const RuntimeView& runtime) {
  Report report{.database = store.path().string()};
  for (const DeviceRecord& record : store.devices())
    report.devices.push_back(device_report(store, record, runtime));
  return report;
}

}  // namespace rooftile
