#include "db/tables/records.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "core/enum_words.h"
#include "core/error.h"
#include "core/json_value.h"
#include "db/tables/records_json.h"

namespace rooftile {

namespace {

// The names in the CHECKs of db/schema/tables.sql, indexed by the enumerator.
constexpr EnumWords<SampleStatus::kCrashed> kSampleStatuses = {
    "measured", "compile failed", "launch failed", "wrong result", "timed out", "crashed"};
constexpr EnumWords<SamplePurpose::kPortfolio> kSamplePurposes = {"search", "refresh", "portfolio"};
constexpr EnumWords<OutcomeVerdict::kOpen> kOutcomeVerdicts = {"faster", "default", "open"};
constexpr EnumWords<Verdict::kRevoked> kVerdicts = {"none", "passed", "failed", "revoked"};

template <auto last>
auto parse(const EnumWords<last>& words, std::string_view text, std::string_view what) {
  if (const auto value = words.find(text)) return *value;
  fail(ErrorCode::kInvalidArgument, "unknown {} '{}'", what, text);
}

JsonValue value_of(const MatrixShape& shape) {
  return {{"m", shape.m},
          {"n", shape.n},
          {"k", shape.k},
          {"operand", name(shape.operand)},
          {"sum", name(shape.sum)}};
}
JsonValue value_of(const WorkgroupMatrix& matrix) {
  return {{"unit", value_of(matrix.unit)}, {"invocations", matrix.invocations}};
}
template <typename Value>
requires(std::is_arithmetic_v<Value>) JsonValue value_of(Value value) { return value; }
JsonValue value_of(const std::ranges::range auto& values) {
  JsonValue json = JsonValue::array();
  for (const auto& value : values) json.push_back(value_of(value));
  return json;
}

/// Reads a limit.
template <typename Value>
requires(std::is_arithmetic_v<Value>) void read(const JsonValue& json, Value& value) {
  value = json;
}
void read(const JsonValue& json, MatrixShape& shape) {
  shape = {.m = json.at("m"),
           .n = json.at("n"),
           .k = json.at("k"),
           .operand = parse_data_type(json.at("operand").get<std::string>()),
           .sum = parse_data_type(json.at("sum").get<std::string>())};
}
void read(const JsonValue& json, WorkgroupMatrix& matrix) {
  read(json.at("unit"), matrix.unit);
  matrix.invocations = json.at("invocations");
}
template <typename Value, std::size_t count>
void read(const JsonValue& json, std::array<Value, count>& values) {
  std::array<Value, count> all;
  for (std::size_t i = 0; i < count; ++i) read(json.at(i), all[i]);
  values = all;
}
template <typename Value>
void read(const JsonValue& json, std::vector<Value>& values) {
  std::vector<Value> all(json.size());
  for (std::size_t i = 0; i < all.size(); ++i) read(json.at(i), all[i]);
  values = std::move(all);
}

/// Calls visit(name, member) for every limit, so that writing and reading cannot drift apart. A new
/// member of DeviceLimits does not compile until it is named here.
template <typename Limits, typename Visit>
void for_each_limit(Limits& limits, Visit&& visit) {
  auto& [max_workgroup_invocations, max_workgroup_size, max_workgroup_count, shared_memory_bytes,
         max_push_constants_bytes, max_storage_buffer_range_bytes, max_texel_buffer_elements,
         max_memory_allocation_bytes, storage_buffer_alignment_bytes, texel_buffer_alignment_bytes,
         subgroup_size, min_subgroup_size, max_subgroup_size, subgroup_size_control,
         max_workgroup_subgroups, subgroup_broadcast, float16_arithmetic, int8_arithmetic,
         float64_arithmetic, matrix_shapes, matrix_granularities, max_matrix_dimension,
         workgroup_matrices, workgroup_matrix_shared_bytes, float32_atomic_add, integer_dot_product,
         integer_dot_product_accelerated, texel_buffer_r32, texel_buffer_rgba32, max_loop_trips,
         compute_units, host_import_alignment_bytes, timestamp_period_ns, timestamp_valid_bits] =
      limits;
  visit("max_workgroup_invocations", max_workgroup_invocations);
  visit("max_workgroup_size", max_workgroup_size);
  visit("max_workgroup_count", max_workgroup_count);
  visit("shared_memory_bytes", shared_memory_bytes);
  visit("max_push_constants_bytes", max_push_constants_bytes);
  visit("max_storage_buffer_range_bytes", max_storage_buffer_range_bytes);
  visit("max_texel_buffer_elements", max_texel_buffer_elements);
  visit("max_memory_allocation_bytes", max_memory_allocation_bytes);
  visit("storage_buffer_alignment_bytes", storage_buffer_alignment_bytes);
  visit("texel_buffer_alignment_bytes", texel_buffer_alignment_bytes);
  visit("subgroup_size", subgroup_size);
  visit("min_subgroup_size", min_subgroup_size);
  visit("max_subgroup_size", max_subgroup_size);
  visit("subgroup_size_control", subgroup_size_control);
  visit("max_workgroup_subgroups", max_workgroup_subgroups);
  visit("subgroup_broadcast", subgroup_broadcast);
  visit("float16_arithmetic", float16_arithmetic);
  visit("int8_arithmetic", int8_arithmetic);
  visit("float64_arithmetic", float64_arithmetic);
  visit("matrix_shapes", matrix_shapes);
  visit("matrix_granularities", matrix_granularities);
  visit("max_matrix_dimension", max_matrix_dimension);
  visit("workgroup_matrices", workgroup_matrices);
  visit("workgroup_matrix_shared_bytes", workgroup_matrix_shared_bytes);
  visit("float32_atomic_add", float32_atomic_add);
  visit("integer_dot_product", integer_dot_product);
  visit("integer_dot_product_accelerated", integer_dot_product_accelerated);
  visit("texel_buffer_r32", texel_buffer_r32);
  visit("texel_buffer_rgba32", texel_buffer_rgba32);
  visit("max_loop_trips", max_loop_trips);
  visit("compute_units", compute_units);
  visit("host_import_alignment_bytes", host_import_alignment_bytes);
  visit("timestamp_period_ns", timestamp_period_ns);
  visit("timestamp_valid_bits", timestamp_valid_bits);
}

}  // namespace

std::string_view name(SampleStatus status) { return kSampleStatuses[status]; }

SampleStatus parse_sample_status(std::string_view text) {
  return parse(kSampleStatuses, text, "sample status");
}

std::string_view name(SamplePurpose purpose) { return kSamplePurposes[purpose]; }

SamplePurpose parse_sample_purpose(std::string_view text) {
  return parse(kSamplePurposes, text, "sample purpose");
}

std::string_view name(OutcomeVerdict verdict) { return kOutcomeVerdicts[verdict]; }

std::string certainty_text(OutcomeVerdict verdict, std::optional<double> confidence) {
  const std::string percent = confidence ? fmt::format("{:.0f}%", 100 * *confidence) : "";
  if (verdict == OutcomeVerdict::kFaster) return percent.empty() ? "-" : percent;
  return std::string(name(verdict)) + (percent.empty() ? "" : " ") + percent;
}

OutcomeVerdict parse_outcome_verdict(std::string_view text) {
  return parse(kOutcomeVerdicts, text, "verdict");
}

std::string_view name(Verdict verdict) { return kVerdicts[verdict]; }

bool brought_anything(const ImportReport& r) {
  return r.devices + r.calibrations + r.runs + r.samples + r.winners + r.portfolio > 0;
}

std::string parameters_json(const Variant& variant) {
  JsonValue json = JsonValue::object();
  for (const auto& [parameter, value] : parameters(variant)) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_number = error == std::errc() && end == value.data() + value.size();
    json.add(std::string(parameter), is_number ? JsonValue(number) : JsonValue(value));
  }
  return json.dump();
}

std::string statistics_json(std::span<const CompilerStatistic> statistics) {
  JsonValue json = JsonValue::array();
  for (const CompilerStatistic& statistic : statistics)
    json.push_back(
        {{"executable", statistic.executable},
         {"name", statistic.name},
         {"description", statistic.description},
         {"value", std::visit([](auto value) { return JsonValue(value); }, statistic.value)}});
  return json.dump();
}

std::vector<CompilerStatistic> parse_statistics(const std::string& text) {
  std::vector<CompilerStatistic> statistics;
  const std::optional<JsonValue> json = JsonValue::parse(text);
  if (!json || !json->is_array()) return statistics;
  for (const JsonValue& entry : *json) {
    try {
      CompilerStatistic statistic = {.executable = entry.at("executable"),
                                     .name = entry.at("name"),
                                     .description = entry.at("description")};
      const JsonValue& value = entry.at("value");
      if (value.is_boolean())
        statistic.value = value.get<bool>();
      else if (value.is_number_unsigned())
        statistic.value = value.get<std::uint64_t>();
      else if (value.is_number_integer())
        statistic.value = value.get<std::int64_t>();
      else
        statistic.value = value.get<double>();
      statistics.push_back(std::move(statistic));
    } catch (const Error&) {
      // The entry was edited by hand, or written by another program.
    }
  }
  return statistics;
}

std::string limits_json(const DeviceLimits& limits) {
  JsonValue json = JsonValue::object();
  for_each_limit(limits,
                 [&](const char* limit, const auto& value) { json.add(limit, value_of(value)); });
  return json.dump();
}

DeviceLimits parse_limits(const std::string& text) {
  DeviceLimits limits;
  const std::optional<JsonValue> json = JsonValue::parse(text);
  if (!json) return limits;
  for_each_limit(limits, [&](const char* limit, auto& value) {
    const JsonValue* const stored = json->find(limit);
    if (stored == nullptr) return;
    try {
      read(*stored, value);
    } catch (const Error&) {
      // A value of another type, a number that is not whole, or a name that is not known was edited
      // by hand; the default holds, as for a missing one.
    }
  });
  return limits;
}

}  // namespace rooftile
