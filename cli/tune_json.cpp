#include "cli/tune_json.h"

#include <algorithm>

#include "cli/json_output.h"
#include "formats/result_json.h"

namespace rooftile {
namespace {

using Ordered = nlohmann::ordered_json;

/// null for a time or ratio that was not measured.
Ordered measured(double x) { return x > 0 ? Ordered(x) : Ordered(nullptr); }

template <typename Value>
Ordered or_null(const std::optional<Value>& value) {
  return value ? Ordered(*value) : Ordered(nullptr);
}

Ordered result_fields(const TuneResult& r) {
  const double total_ns = r.kernel_ns + r.pack_ns;
  Ordered json = {{"problem", problem_json(r.problem)},
                  {"winner", r.winner.empty() ? Ordered(nullptr) : Ordered(r.winner)},
                  {"kernel_ns", measured(r.kernel_ns)},
                  {"pack_ns", r.pack_ns},
                  {"gflops", measured(r.kernel_ns > 0 ? flops(r.problem) / r.kernel_ns : 0)},
                  {"roof_share", measured(r.kernel_ns > 0 ? r.bound_ns / r.kernel_ns : 0)},
                  {"verdict", name(r.verdict)},
                  {"confidence", or_null(r.confidence)},
                  {"vs_default", measured(total_ns > 0 ? r.default_ns / total_ns : 0)},
                  {"vs_naive", measured(total_ns > 0 ? r.naive_ns / total_ns : 0)},
                  {"vs_host", measured(r.host.ratio)},
                  {"host_contended", r.host.contended},
                  {"tried", r.tried},
                  {"measured", r.measured},
                  {"rejected", r.rejected},
                  {"spilled", r.spilled}};
  return json;
}

Ordered untuned_fields(const TuneReport& report) {
  const Regret& regret = report.untuned;
  Ordered json = {{"problems", regret.problems},
                  {"median_regret", nullptr},
                  {"median_low", nullptr},
                  {"median_high", nullptr},
                  {"worst_decile", nullptr}};
  if (regret.has_median()) {
    json["median_regret"] = regret.median;
    json["median_low"] = regret.median_low;
    json["median_high"] = regret.median_high;
  }
  if (regret.has_decile()) json["worst_decile"] = regret.worst_decile;
  return json;
}

}  // namespace

Ordered tune_json(const DeviceProfile& device, const std::vector<TuneProblem>& wanted,
                  double budget_s, const TuneReport& report) {
  Ordered results = Ordered::array(), missing = Ordered::array();
  for (const TuneResult& result : report.results) results.push_back(result_fields(result));
  for (const TuneProblem& one : wanted)
    if (std::ranges::find(report.results, one.problem, &TuneResult::problem) ==
        report.results.end())
      missing.push_back(problem_json(one.problem));
  Ordered json = device_fields(device);
  json["budget_s"] = budget_s;
  json["elapsed_s"] = report.elapsed_s;
  json["seconds"] = Ordered::parse(activities_json(report.seconds));
  json["calibration_s"] = report.calibration_s;
  json["interrupted"] = report.interrupted;
  json["out_of_budget"] = report.out_of_budget;
  json["problems"] = std::move(results);
  json["not_begun"] = std::move(missing);
  json["failed_candidates"] = report.failed;
  json["lost_s"] = report.lost_s;
  json["noise"] = {{"resampled", report.noise.retaken},
                   {"flagged", report.noise.noisy},
                   {"slowdown", or_null(report.noise.slowdown)},
                   {"highest_c", or_null(report.conditions.highest_c)},
                   {"throttle_events", or_null(report.conditions.throttle_events)}};
  json["untuned"] = untuned_fields(report);
  return json;
}

}  // namespace rooftile
