#include "formats/t4_export.h"

#include "formats/result_json.h"

namespace rooftile {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr double kNsInMs = 1e6;

std::string dump(const Ordered& json) {
  // A driver's text may hold bytes that are no UTF-8.
  return json.dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

const char* invalidity(SampleStatus status) {
  switch (status) {
    case SampleStatus::kMeasured:
      return "correct";
    case SampleStatus::kCompileFailed:
      return "compile";
    case SampleStatus::kWrongResult:
      return "correctness";
    case SampleStatus::kTimedOut:
      return "timeout";
    case SampleStatus::kLaunchFailed:
    case SampleStatus::kCrashed:
      return "runtime";
  }
  return "runtime";
}

Ordered measurement(std::string_view name, Ordered value, std::string_view unit) {
  return {{"name", name}, {"value", std::move(value)}, {"unit", unit}};
}

Ordered measurements(const SampleRecord& s, const Problem& p) {
  const double total_ns = s.kernel.median_ns + s.pack_ns;
  if (s.status != SampleStatus::kMeasured) {
    // Kernel Tuner writes its error's name as the time, and readers of T4 look for these names.
    const bool compiled = s.status != SampleStatus::kCompileFailed;
    Ordered failed = {
        measurement("time", compiled ? "RuntimeFailedConfig" : "CompilationFailedConfig", "ms"),
        measurement("status", name(s.status), "")};
    if (!s.detail.empty()) failed.emplace_back(measurement("detail", s.detail, ""));
    return failed;
  }
  Ordered list = {measurement("time", total_ns / kNsInMs, "ms"),
                  measurement("kernel_time", s.kernel.median_ns / kNsInMs, "ms"),
                  measurement("kernel_time_mad", s.kernel.mad_ns / kNsInMs, "ms"),
                  measurement("kernel_time_low", s.kernel.low_ns / kNsInMs, "ms"),
                  measurement("kernel_time_high", s.kernel.high_ns / kNsInMs, "ms"),
                  measurement("pack_time", s.pack_ns / kNsInMs, "ms"),
                  measurement("runs", s.kernel.count, ""),
                  measurement("GFLOP/s", flops(p) / total_ns, "GFLOP/s")};
  if (s.level != 1) list.emplace_back(measurement("level", s.level, ""));
  return list;
}

Ordered result(const StoredRow& row) {
  const SampleRecord& s = row.sample.sample;
  const bool wrong = s.status == SampleStatus::kWrongResult;
  Ordered json = {{"timestamp", row.sample.at},
                  {"configuration", configuration_json(row.variant)},
                  {"times",
                   {{"compilation", s.compile_ns / kNsInMs},
                    {"benchmark", static_cast<double>(s.kernel.count) *
                                      (s.kernel.median_ns + s.pack_ns) / kNsInMs},
                    {"framework", 0},
                    {"search_algorithm", 0},
                    {"validation", 0},
                    {"runtimes", Ordered::array()}}},
                  {"invalidity", invalidity(s.status)},
                  {"correctness", wrong ? 0 : 1},
                  {"measurements", measurements(s, row.problem)},
                  {"objectives", {"time"}},
                  {"problem", problem_json(row.problem)},
                  {"device", row.device},
                  {"kernel", row.sample.hash},
                  {"purpose", name(s.purpose)},
                  {"run", row.sample.run_key}};
  if (!row.sample.origin.empty()) json["origin"] = row.sample.origin;
  return json;
}

Ordered metadata(const Store& store, std::span<const RowId> devices, std::string_view version) {
  Ordered list = Ordered::array();
  const std::vector<DeviceRecord> records = store.devices();
  for (const RowId id : devices)
    for (const DeviceRecord& record : records)
      if (record.id == id) list.emplace_back(device_json(record.profile));
  return {{"timeunit", "milliseconds"},
          {"rooftile", {{"version", version}, {"origin", store.origin()}, {"devices", list}}}};
}

}  // namespace

std::size_t export_t4(const Store& store, const RowFilter& filter, std::string_view version,
                      const Buffered::Write& write) {
  Buffered out(write);
  out.add("{\"metadata\": " + dump(metadata(store, filter.devices, version)) +
          ",\n\"schema_version\": \"1.0.0\",\n\"results\": [");
  bool first = true;
  const std::size_t rows = for_each_row(store, filter, [&](const StoredRow& row) {
    out.add(std::exchange(first, false) ? "\n" : ",\n");
    out.add(dump(result(row)));
  });
  out.add("\n]}\n");
  out.flush();
  return rows;
}

}  // namespace rooftile
