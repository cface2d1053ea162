#include "formats/t4_builder.h"

#include <algorithm>
#include <cmath>

#include "core/hash.h"
#include "core/numbers/statistics.h"

namespace rooftile {
namespace {

constexpr std::size_t kMostDevices = 100, kMostMeasurements = 200, kMostRuns = 100'000,
                      kLongestDetail = 4096;
constexpr double kShortestNs = 1, kLongestNs = 1e13;
constexpr double kMostFlopsPerNs = 1e9;  // An exaflop a second.

/// Nanoseconds in a unit as tuners write it; nothing for a unit that is none of time.
std::optional<double> ns_in(std::string_view unit) {
  static const std::map<std::string_view, double> kUnits = {
      {"ns", 1},   {"nanoseconds", 1},    {"us", 1e3}, {"microseconds", 1e3},
      {"ms", 1e6}, {"milliseconds", 1e6}, {"s", 1e9},  {"seconds", 1e9}};
  const auto at = kUnits.find(unit);
  return at == kUnits.end() ? std::nullopt : std::optional(at->second);
}

const Json* find(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at == json.end() ? nullptr : &*at;
}

const Json& needed(const Json& json, const char* name) {
  const Json* const at = find(json, name);
  if (at == nullptr) refuse("it has no '{}'", name);
  return *at;
}

std::string string_of(const Json& json, const char* name) {
  const Json* const at = find(json, name);
  if (at == nullptr) return {};
  if (!at->is_string()) refuse("'{}' is {}, not text", name, printable(at->dump(), 40));
  return at->get<std::string>();
}

double checked_ns(double ns, double least_ns, std::string_view what) {
  if (!(ns >= least_ns && ns <= kLongestNs))
    refuse("its {} is {} ns; times of such a product are from {:.3g} to {:.0e} ns", what, ns,
           least_ns, kLongestNs);
  return ns;
}

/// The measurements of one result by name.
class Measurements {
 public:
  explicit Measurements(const Json& result, double default_unit_ns) : unit_ns_(default_unit_ns) {
    const Json* const list = find(result, "measurements");
    if (list == nullptr) return;
    if (!list->is_array() || list->size() > kMostMeasurements)
      refuse("'measurements' is no list of at most {}", kMostMeasurements);
    for (const Json& one : *list) {
      if (!one.is_object()) refuse("a measurement is {}, not an object", printable(one.dump(), 40));
      by_name_.emplace(string_of(one, "name"), &one);
    }
  }

  /// In ns; nothing where it is missing.
  std::optional<double> time_ns(const char* name) const {
    const Json* const one = of(name);
    if (one == nullptr) return std::nullopt;
    const std::string unit = string_of(*one, "unit");
    const std::optional<double> in_ns = unit.empty() ? unit_ns_ : ns_in(unit);
    if (!in_ns) refuse("'{}' has the unit '{}', which is none of time", name, printable(unit, 40));
    return number(name, *one) * *in_ns;
  }
  std::optional<double> plain(const char* name) const {
    const Json* const one = of(name);
    return one == nullptr ? std::nullopt : std::optional(number(name, *one));
  }
  std::string text(const char* name) const {
    const Json* const one = of(name);
    return one == nullptr ? "" : string_of(*one, "value");
  }

 private:
  const Json* of(const char* name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : at->second;
  }
  static double number(const char* name, const Json& one) {
    const Json* const value = find(one, "value");
    if (value == nullptr || !value->is_number())
      refuse("the measurement '{}' is {}, not a number", name,
             value == nullptr ? "missing" : printable(value->dump(), 40));
    return value->get<double>();
  }

  std::map<std::string, const Json*> by_name_;
  double unit_ns_;
};

SampleStatus failure(const std::string& invalidity, const std::string& status) {
  if (invalidity == "compile") return SampleStatus::kCompileFailed;
  if (invalidity == "correctness") return SampleStatus::kWrongResult;
  if (invalidity == "timeout") return SampleStatus::kTimedOut;
  if (invalidity == "runtime")
    return status == name(SampleStatus::kCrashed) ? SampleStatus::kCrashed
                                                  : SampleStatus::kLaunchFailed;
  refuse("its 'invalidity' is '{}', which T4 does not have", printable(invalidity, 40));
}

}  // namespace

void T4Builder::metadata(const Json& json) {
  if (!json.is_object()) refuse("'metadata' is {}, not an object", printable(json.dump(), 40));
  if (const std::string unit = string_of(json, "timeunit"); !unit.empty()) {
    const std::optional<double> in_ns = ns_in(unit);
    if (!in_ns) refuse("'timeunit' is '{}', which is no unit of time", printable(unit, 40));
    if (*in_ns != unit_ns_ && !all_.results.empty())
      refuse("'metadata' with the time unit '{}' comes after the results; move it before them",
             printable(unit, 40));
    unit_ns_ = *in_ns;
  }
  const Json* const ours = find(json, "rooftile");
  if (ours == nullptr) return;
  all_.origin = string_of(*ours, "origin");
  const Json* const devices = find(*ours, "devices");
  if (devices == nullptr) return;
  if (!devices->is_array() || devices->size() > kMostDevices)
    refuse("'devices' is no list of at most {}", kMostDevices);
  for (const Json& device : *devices) all_.devices.push_back(parse_device(device));
}

void T4Builder::version(const Json& json) {
  if (!json.is_string() || !json.get_ref<const std::string&>().starts_with("1."))
    refuse("'schema_version' is {}, and this Rooftile reads version 1.x.y of T4",
           printable(json.dump(), 40));
}

std::size_t T4Builder::problem_of(const Json& json) {
  const Json* const named = find(json, "problem");
  if (named == nullptr && !defaults_.problem)
    refuse(
        "it has no 'problem', as results of other tuners have none; name it with --m, --n, --k, "
        "--type, ...");
  const auto [known, is_new] =
      problems_.try_emplace(named == nullptr ? "" : named->dump(), all_.problems.size());
  if (!is_new) return known->second;
  const Problem p = named == nullptr ? *defaults_.problem : parse_problem(*named);
  const auto same = std::ranges::find(all_.problems, p);
  known->second = static_cast<std::size_t>(same - all_.problems.begin());
  if (same == all_.problems.end()) all_.problems.push_back(p);
  return known->second;
}

std::size_t T4Builder::device_of(const Json& json) {
  const Json* const named = find(json, "device");
  if (named == nullptr) {
    lacks_device_ = true;
    return 0;
  }
  if (!named->is_number_unsigned() || named->get<std::uint64_t>() >= kMostDevices)
    refuse("its device is {}, not a position in the list of devices", printable(named->dump(), 40));
  names_devices_ = true;
  const auto device = named->get<std::size_t>();
  highest_device_ = std::max(highest_device_, device);
  return device;
}

double T4Builder::compile_ns(const Json& times) const {
  if (!times.is_object()) refuse("'times' is {}, not an object", printable(times.dump(), 40));
  for (const char* name : {"compilation", "compilation_time"})
    if (const Json* const time = find(times, name); time != nullptr && time->is_number())
      return checked_ns(time->get<double>() * unit_ns_, 0, "compilation");
  return 0;
}

void T4Builder::measure(const Json& json, const Problem& p, T4Result& result) const {
  const double least_ns = std::max(kShortestNs, flops(p) / kMostFlopsPerNs);
  const Measurements measured(json, unit_ns_);
  const Json& times = needed(json, "times");
  SampleRecord& sample = result.sample;
  std::vector<double> runs_ns;
  if (const Json* const runs = find(times, "runtimes"); runs != nullptr) {
    if (!runs->is_array() || runs->size() > kMostRuns)
      refuse("'runtimes' is no list of at most {}", kMostRuns);
    for (const Json& run : *runs) {
      if (!run.is_number()) refuse("a run's time is {}, not a number", printable(run.dump(), 40));
      runs_ns.push_back(checked_ns(run.get<double>() * unit_ns_, least_ns, "run"));
    }
  }
  const std::optional<double> time = measured.time_ns("time"),
                              kernel = measured.time_ns("kernel_time");
  if (runs_ns.empty() && !time && !kernel)
    refuse("it is 'correct', but has neither 'runtimes' nor a measurement 'time'");
  if (kernel || runs_ns.empty()) {
    const double ns = checked_ns(kernel.value_or(time.value_or(0)), least_ns, "time");
    const double count = measured.plain("runs").value_or(
        static_cast<double>(std::max<std::size_t>(runs_ns.size(), 1)));
    if (!(count >= 1 && count <= 1e9)) refuse("it has {} runs", count);
    sample.kernel = {.median_ns = ns,
                     .mad_ns = measured.time_ns("kernel_time_mad").value_or(0),
                     .low_ns = measured.time_ns("kernel_time_low").value_or(ns),
                     .high_ns = measured.time_ns("kernel_time_high").value_or(ns),
                     .count = static_cast<std::size_t>(count)};
    for (const double spread : {sample.kernel.mad_ns, sample.kernel.high_ns})
      checked_ns(spread, 0, "spread");
    if (!(std::abs(sample.kernel.low_ns) <= kLongestNs)) refuse("its spread is out of range");
  } else {
    sample.kernel = summarize(runs_ns);
  }
  sample.pack_ns = checked_ns(measured.time_ns("pack_time").value_or(0), 0, "packing");
  sample.level = measured.plain("level").value_or(1);
  if (!(sample.level > 0.01 && sample.level < 100)) refuse("its level is {}", sample.level);
}

void T4Builder::result(const Json& json) {
  if (!json.is_object()) refuse("it is {}, not an object", printable(json.dump(), 40));
  const Json& validity = needed(json, "invalidity");
  if (!validity.is_string()) refuse("'invalidity' is {}, not text", printable(validity.dump(), 40));
  const auto& invalidity = validity.get_ref<const std::string&>();
  if (invalidity == "constraints") {  // No such kernel was made, let alone run.
    ++all_.never_run;
    return;
  }
  const Json& correctness = needed(json, "correctness");
  if (!correctness.is_number())
    refuse("'correctness' is {}, not a number", printable(correctness.dump(), 40));
  T4Result result{.variant = parse_configuration(needed(json, "configuration"))};
  result.problem = problem_of(json);
  result.device = device_of(json);
  if (const std::string purpose = string_of(json, "purpose"); !purpose.empty())
    result.sample.purpose = parse_sample_purpose(printable(purpose, 40));
  result.sample.compile_ns = compile_ns(needed(json, "times"));
  const bool right = correctness.get<double>() > 0;
  if (invalidity == "correct" && right) {
    measure(json, all_.problems[result.problem], result);
  } else {
    const Measurements said(json, unit_ns_);
    result.sample.status =
        failure(invalidity == "correct" ? "correctness" : invalidity, said.text("status"));
    result.sample.detail = said.text("detail").substr(0, kLongestDetail);
  }
  all_.identity = hash_hex(fmt::format("{} {} {} {} {} {}", all_.identity,
                                       to_string(result.variant), result.problem, result.device,
                                       name(result.sample.status), result.sample.kernel.median_ns));
  all_.results.push_back(std::move(result));
}

T4Results T4Builder::finished() {
  if (all_.results.empty()) refuse("it holds no result of a kernel that was tried");
  if (names_devices_ && lacks_device_)
    refuse("some of its results name a device and others do not");
  if (names_devices_ && highest_device_ >= all_.devices.size())
    refuse("a result is of device {}, but 'metadata' lists {}", highest_device_,
           all_.devices.size());
  if (lacks_device_) all_.devices = {defaults_.device()};
  std::string text = all_.identity;
  for (const Problem& p : all_.problems) text += problem_json(p).dump();
  for (const DeviceProfile& d : all_.devices) text += d.device_uuid + d.pipeline_cache_uuid;
  all_.identity = hash_hex(text);
  return std::move(all_);
}

}  // namespace rooftile
