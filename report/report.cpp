#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/model/predict.h"

namespace rooftile {
namespace {

ProblemReport problem_report(const TunedKernel& tuned, const Calibration& calibration) {
  const Variant& v = tuned.candidate.variant;
  const Roofline bounds = roofline(tuned.problem, v, calibration.device);
  return {.problem = tuned.problem,
          .kernel = short_name(v),
          .variant = v,
          .kernel_ns = tuned.kernel_ns,
          .pack_ns = tuned.pack_ns,
          .bound_ns = problem_bound_ns(tuned.problem, calibration.device),
          .limiter = bounds.bounds.empty() ? "" : bounds.bounds.front().limiter,
          .limiter_ns = bounds.bounds.empty() ? 0 : bounds.bounds.front().ns,
          .host_ns = predict_host_ns(tuned.problem, calibration.host)};
}

DeviceReport device_report(const Store& store, const DeviceRecord& record,
                           std::string_view generator_version) {
  DeviceReport report{.profile = record.profile,
                      .calibrated_at = store.latest_calibration_time(record.id),
                      .figures = store.latest_calibration(record.id)};
  const Calibration calibration = calibration_from_figures(report.figures);
  report.ratios = calibration_ratios(calibration);
  for (const TunedKernel& tuned : store.tuned_kernels(record.id, generator_version)) {
    // By bucket and rank: the first of a problem is its best.
    const bool seen =
        std::any_of(report.problems.begin(), report.problems.end(),
                    [&](const ProblemReport& p) { return p.problem == tuned.problem; });
    if (seen) continue;
    ProblemReport& problem = report.problems.emplace_back(problem_report(tuned, calibration));
    if (auto known = store.compiler_facts(record.id, tuned.candidate.id))
      problem.facts = std::move(known->facts);
  }
  std::stable_sort(report.problems.begin(), report.problems.end(),
                   [](const ProblemReport& x, const ProblemReport& y) {
                     return flops(x.problem) < flops(y.problem);
                   });
  for (const BlackListRecord& entry : store.black_listed(record.id)) {
    const auto candidate = store.candidate(entry.candidate);
    report.rejected.push_back(
        {candidate ? short_name(candidate->variant) : "unknown kernel", entry.reason});
  }
  return report;
}

}  // namespace

Report make_report(const Store& store, std::string_view generator_version) {
  Report report{.database = store.path().string()};
  for (const DeviceRecord& record : store.devices())
    report.devices.push_back(device_report(store, record, generator_version));
  return report;
}

}  // namespace rooftile
