#include <algorithm>
#include <span>

#include "report/json_values.h"
#include "report/report.h"

namespace rooftile {
namespace {

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

Json json_of(const LevelReport& level) {
  return {{"level", level.level},
          {"bytes", level.bytes},
          {"source", level.modelled_bytes ? "counted" : "modelled"},
          {"modelled_bytes", level.modelled_bytes.value_or(level.bytes)},
          {"intensity", json_known(level.intensity)},
          {"gbps", json_known(level.gbps)},
          {"gflops", json_known(level.gflops)},
          {"bound_ns", json_known(level.bound_ns)}};
}

// Drivers may have hundreds, and the page shows hundreds of problems.
constexpr std::size_t kPageCounters = 20;

/// The page has room for what it shows.
Json json_of(const std::optional<CounterSetRecord>& counted, JsonDetail detail) {
  if (!counted) return nullptr;
  Json list = Json::array();
  const std::size_t all = counted->counters.size();
  const std::size_t shown = detail == JsonDetail::kFull ? all : std::min(all, kPageCounters);
  for (const PerformanceCounter& counter : std::span(counted->counters).first(shown)) {
    Json& entry = list.emplace_back(Json{{"name", counter.name},
                                         {"category", counter.category},
                                         {"unit", counter.unit},
                                         {"value", counter.value}});
    if (detail == JsonDetail::kFull)
      entry.update({{"description", counter.description}, {"scope", counter.scope}});
  }
  return {{"counted_at", counted->at},
          {"passes", counted->passes},
          {"counters", list},
          {"counters_left_out", all - shown}};
}

Json json_of(const RankedReport& ranked) {
  return {{"kernel", ranked.kernel},
          {"kernel_ns", ranked.kernel_ns},
          {"pack_ns", ranked.pack_ns},
          {"limiter", ranked.limiter},
          {"over_bound", json_known(ranked.over_bound)}};
}

Json json_of(const FigureReport& report) {
  const Figure& f = report.figure;
  const std::optional<double> drift = report.drift();
  return {{"name", f.name},
          {"unit", f.unit},
          {"value", f.value},
          {"mad", f.mad},
          {"count", f.count},
          {"before", report.before ? Json(report.before->value) : Json(nullptr)},
          {"drift", drift ? Json(*drift) : Json(nullptr)},
          {"drifted", report.drifted()}};
}

Json json_of(const Waves& waves) {
  return {{"workgroups", waves.workgroups},
          {"waves", waves.waves},
          {"wave_efficiency", waves.wave_efficiency},
          {"tile_efficiency", waves.tile_efficiency}};
}

template <typename Values>
Json json_list(const Values& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(json_of(value));
  return list;
}

}  // namespace

Json json_known(double x) { return x == 0 ? Json(nullptr) : Json(x); }

Json json_of(const Problem& p) {
  Json json = {{"m", p.m},
               {"n", p.n},
               {"k", p.k},
               {"batch", p.batch},
               {"epilogue", to_string(p.epilogue)},
               {"trans_a", p.trans_a == Transpose::kYes},
               {"trans_b", p.trans_b == Transpose::kYes},
               {"type", to_string(p.types)}};
  if (!is_grouped(p)) return json;
  json["groups"] = p.grouping.groups;
  json["experts"] = p.grouping.experts;
  json["largest"] = p.grouping.largest;
  return json;
}

Json json_of(const ProblemReport& p, JsonDetail detail) {
  Json json = json_of(p.problem);
  if (detail == JsonDetail::kFull) {
    Json& values = json["parameters"] = Json::object();
    for (const auto& [parameter, value] : parameters(p.variant)) values[parameter] = value;
  }
  const bool calibrated = !p.limiter.name.empty();
  const auto list = [calibrated](const std::vector<Bound>& bounds) {
    Json made = Json::array();
    if (calibrated)
      for (const Bound& bound : bounds)
        made.push_back({{"limiter", bound.limiter}, {"ns", bound.ns}});
    return made;
  };
  json.update(
      {{"kernel", p.kernel},
       {"kernel_ns", p.kernel_ns},
       {"pack_ns", p.pack_ns},
       {"gflops", flops(p.problem) / p.kernel_ns},
       {"bound_ns", p.bound_ns},
       {"roofline_share", p.bound_ns / p.kernel_ns},
       {"limiter", p.limiter.name},
       {"or_limiter", p.limiter.other},
       {"limiter_ns", p.limiter.ns},
       {"limiter_share", p.limiter.share},
       {"costs", list(p.roofline.costs)},
       {"largest_bound", p.largest_bound()},
       {"next_limiter", p.next_limiter()},
       {"over_bound", calibrated ? Json(p.headroom.over_bound) : Json()},
       {"if_lifted", calibrated ? Json(p.headroom.if_lifted) : Json()},
       {"bounds", list(p.roofline.bounds)},
       {"levels", json_list(p.levels)},
       {"waves", json_of(p.roofline.waves)},
       {"default_kernel", p.default_kernel},
       {"default_ns", json_known(p.default_ns())},
       {"verdict", p.outcome ? Json(name(p.outcome->verdict)) : Json()},
       {"confidence", p.outcome && p.outcome->confidence ? Json(*p.outcome->confidence) : Json()},
       {"tried", p.outcome ? Json(p.outcome->tried) : Json()},
       {"naive_ns", json_known(p.naive_ns)},
       {"predicted_host_ns", p.host_ns},
       {"predicted_call_ns", json_known(p.call_ns)},
       {"alternatives", json_list(p.alternatives)},
       {"compiler_facts", json_of(p.facts)},
       {"counted", json_of(p.counters, detail)}});
  return json;
}

Json json_identity(const DeviceProfile& profile) {
  return {{"name", profile.name},
          {"uuid", profile.device_uuid},
          {"kind", name(profile.kind)},
          {"driver", profile.driver_info}};
}

Json json_of(const DeviceReport& d, JsonDetail detail) {
  Json figures = Json::array(), problems = Json::array(), rejected = Json::array(),
       elsewhere = Json::array(), stale = Json::array(), math = Json::array(),
       levels = Json::array();
  for (const FigureReport& report : d.figures)
    if (detail == JsonDetail::kFull || !report.figure.name.starts_with(kHostGridPrefix))
      figures.push_back(json_of(report));
  for (const ProblemReport& p : d.problems) problems.push_back(json_of(p, detail));
  for (const RejectedReport& r : d.rejected)
    rejected.push_back({{"kernel", r.kernel}, {"reason", r.reason}});
  for (const StaleReport& s : d.stale)
    stale.push_back({{"problem", s.problem}, {"kernel", s.kernel}, {"reason", s.reason}});
  for (const ElsewhereReport& e : d.elsewhere)
    elsewhere.push_back({{"problem", to_string(e.problem)},
                         {"kernel", e.kernel},
                         {"kernel_ns", e.kernel_ns},
                         {"pack_ns", e.pack_ns},
                         {"tried", e.tried}});
  for (const MathRoof& roof : d.math_roofs)
    math.push_back({{"type", roof.type}, {"gflops", roof.gflops}});
  for (const LevelReport& roof : d.level_roofs)
    levels.push_back({{"level", roof.level}, {"gbps", roof.gbps}});
  Json json = json_identity(d.profile);
  json.update({{"calibrated_at", d.calibrated_at},
               {"calibrated_before", d.calibrated_before},
               {"tuned_at", d.tuned_at},
               {"seconds", Json::parse(activities_json(d.seconds))},
               {"calibration", figures},
               {"calibration_ratios",
                {{"compute", d.ratios.compute},
                 {"bandwidth", d.ratios.bandwidth},
                 {"latency", d.ratios.latency}}},
               {"roofs", {{"math", math}, {"levels", levels}}},
               {"problems", problems},
               {"advice", d.advice},
               {"elsewhere", elsewhere},
               {"stale", stale},
               {"black_list", rejected}});
  return json;
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string report_json(const Report& report) {
  Json devices = Json::array();
  for (const DeviceReport& device : report.devices)
    devices.push_back(json_of(device, JsonDetail::kFull));
  return json_text({{"database", report.database}, {"devices", devices}}, 2);
}

}  // namespace rooftile
