#include <cmath>
#include <nlohmann/json.hpp>

#include "report/report.h"

namespace rooftile {
namespace {

using Json = nlohmann::json;

// JSON has neither infinity nor NaN.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json json_of(const std::optional<CompilerFacts>& facts) {
  if (!facts) return nullptr;
  const auto count = [](const std::optional<std::int64_t>& x) {
    return x ? Json(*x) : Json(nullptr);
  };
  return {{"registers", count(facts->registers)},
          {"scalar_registers", count(facts->scalar_registers)},
          {"spilled_registers", count(facts->spilled_registers)},
          {"spilled_scalar_registers", count(facts->spilled_scalar_registers)},
          {"spill_stores", count(facts->spill_stores)},
          {"scratch_bytes", count(facts->scratch_bytes)},
          {"shared_bytes", count(facts->shared_bytes)},
          {"subgroups_per_unit", count(facts->subgroups_per_unit)}};
}

Json json_of(const ProblemReport& p) {
  Json parameters_json = Json::object();
  for (const auto& [parameter, value] : parameters(p.variant)) parameters_json[parameter] = value;
  return {{"m", p.problem.m},
          {"n", p.problem.n},
          {"k", p.problem.k},
          {"batch", p.problem.batch},
          {"epilogue", to_string(p.problem.epilogue)},
          {"trans_a", p.problem.trans_a == Transpose::kYes},
          {"trans_b", p.problem.trans_b == Transpose::kYes},
          {"type", to_string(p.problem.types)},
          {"kernel", p.kernel},
          {"parameters", parameters_json},
          {"kernel_ns", number(p.kernel_ns)},
          {"pack_ns", number(p.pack_ns)},
          {"gflops", number(flops(p.problem) / p.kernel_ns)},
          {"bound_ns", number(p.bound_ns)},
          {"roofline_share", number(p.bound_ns / p.kernel_ns)},
          {"limiter", p.limiter},
          {"limiter_ns", number(p.limiter_ns)},
          {"predicted_host_ns", number(p.host_ns)},
          {"compiler_facts", json_of(p.facts)}};
}

Json json_of(const DeviceReport& d) {
  Json figures = Json::array(), problems = Json::array(), rejected = Json::array();
  for (const Figure& f : d.figures)
    figures.push_back({{"name", f.name},
                       {"unit", f.unit},
                       {"value", number(f.value)},
                       {"mad", number(f.mad)},
                       {"count", f.count}});
  for (const ProblemReport& p : d.problems) problems.push_back(json_of(p));
  for (const RejectedReport& r : d.rejected)
    rejected.push_back({{"kernel", r.kernel}, {"reason", r.reason}});
  return {{"name", d.profile.name},
          {"uuid", d.profile.device_uuid},
          {"kind", name(d.profile.kind)},
          {"driver", d.profile.driver_info},
          {"calibrated_at", d.calibrated_at},
          {"calibration", figures},
          {"calibration_ratios",
           {{"compute", number(d.ratios.compute)},
            {"bandwidth", number(d.ratios.bandwidth)},
            {"latency", number(d.ratios.latency)}}},
          {"problems", problems},
          {"black_list", rejected}};
}

}  // namespace

std::string report_json(const Report& report) {
  Json devices = Json::array();
  for (const DeviceReport& device : report.devices) devices.push_back(json_of(device));
  const Json all = {{"database", report.database}, {"devices", devices}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rooftile
