#include "tuner/worker/worker_protocol.h"

#include <limits>

#include "core/error.h"
#include "core/json_whole.h"
#include "db/tables/records.h"

namespace rooftile {
namespace {

Transpose transpose(const Json& json) {
  return json.get<bool>() ? Transpose::kYes : Transpose::kNo;
}

// JSON has no infinity, which becomes null in the text.
double or_infinity(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::infinity() : json.get<double>();
}

// JSON has no bytes.
constexpr std::string_view kHexDigits = "0123456789abcdef";
std::string hex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kHexDigits[value >> 4];
    text += kHexDigits[value & 15];
  }
  return text;
}

/// Of a member in hex; empty where there is none.
std::string bytes_at(const Json& json, std::string_view member) {
  const Json* const found = json.find(member);
  if (found == nullptr) return {};
  const auto text = found->get<std::string>();
  const auto digit = [&](std::size_t i) {
    const std::size_t value = i < text.size() ? kHexDigits.find(text[i]) : std::string::npos;
    if (value == std::string::npos)
      fail(ErrorCode::kInvalidArgument, "'{}' is not in hexadecimal digits", member);
    return value;
  };
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes += static_cast<char>(digit(i) << 4 | digit(i + 1));
  return bytes;
}

double checked_ns(const Json& json) {
  const double ns = json.get<double>();
  if (!(ns >= 0)) fail(ErrorCode::kInvalidArgument, "a worker states a time of {} ns", ns);
  return ns;
}
std::vector<double> all_ns(const Json& json) {
  std::vector<double> all;
  for (const Json& ns : json) all.push_back(checked_ns(ns));
  return all;
}

}  // namespace

Json to_json(const Problem& p) {
  return {{"type", to_string(p.types)},
          {"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"batch", p.batch},
          {"trans_a", p.trans_a == Transpose::kYes},
          {"trans_b", p.trans_b == Transpose::kYes},
          {"lda", p.lda},
          {"ldb", p.ldb},
          {"ldc", p.ldc},
          {"stride_a", p.stride_a},
          {"stride_b", p.stride_b},
          {"stride_c", p.stride_c},
          {"epilogue", to_string(p.epilogue)},
          {"alpha", p.alpha},
          {"beta", p.beta},
          {"experts", p.grouping.experts},
          {"groups", p.grouping.groups},
          {"largest", p.grouping.largest}};
}

Problem problem_from_json(const Json& json) {
  return {
      .types = parse_types(json.at("type").get<std::string>()),
      .m = whole(json, "m"),
      .n = whole(json, "n"),
      .k = whole(json, "k"),
      .batch = whole(json, "batch"),
      .trans_a = transpose(json.at("trans_a")),
      .trans_b = transpose(json.at("trans_b")),
      .lda = whole(json, "lda"),
      .ldb = whole(json, "ldb"),
      .ldc = whole(json, "ldc"),
      .stride_a = whole(json, "stride_a"),
      .stride_b = whole(json, "stride_b"),
      .stride_c = whole(json, "stride_c"),
      .alpha = json.at("alpha"),
      .beta = json.at("beta"),
      .epilogue = parse_epilogue(json.at("epilogue").get<std::string>()),
      // Not there in what was written before problems had groups (bench/replay/).
      .grouping = {.experts = json.contains("experts") ? std::int64_t{whole(json, "experts")} : 0,
                   .groups = json.contains("groups") ? std::int64_t{whole(json, "groups")} : 0,
                   .largest = json.contains("largest") ? std::int64_t{whole(json, "largest")} : 0}};
}

Json to_json(const Signature& s) {
  return {{"type", to_string(s.types)},
          {"trans_a", s.trans_a == Transpose::kYes},
          {"trans_b", s.trans_b == Transpose::kYes},
          {"epilogue", to_string(s.epilogue)},
          {"grouped", s.grouped}};
}

Signature signature_from_json(const Json& json) {
  return {parse_types(json.at("type").get<std::string>()), transpose(json.at("trans_a")),
          transpose(json.at("trans_b")), parse_epilogue(json.at("epilogue").get<std::string>()),
          json.at("grouped")};
}

Json to_json(const CompileReply& r) {
  return {{"compile_ns", r.compile_ns}, {"code", hex(r.code)}};
}

CompileReply compile_reply_from_json(const Json& json) {
  return {.compile_ns = checked_ns(json.at("compile_ns")), .code = bytes_at(json, "code")};
}

Json to_json(const TimeRequest& r) {
  return {{"problem", to_json(r.problem)},
          {"variant", to_string(r.variant)},
          {"samples", r.samples},
          {"limit_ns", r.limit_ns},
          {"compute_units", r.compute_units},
          {"rotate_bytes", r.rotate_bytes},
          {"drop_spilled", r.spilled == Spilled::kDrop},
          {"prepacked", r.prepacked},
          {"code", hex(r.code)}};
}

TimeRequest time_request_from_json(const Json& json) {
  return {.variant = parse_variant(json.at("variant").get<std::string>()),
          .problem = problem_from_json(json.at("problem")),
          .samples = whole(json, "samples"),
          .limit_ns = or_infinity(json.at("limit_ns")),
          .compute_units = json.at("compute_units"),
          .rotate_bytes = json.at("rotate_bytes"),
          .spilled = json.at("drop_spilled").get<bool>() ? Spilled::kDrop : Spilled::kMeasure,
          .prepacked = json.at("prepacked"),
          .code = bytes_at(json, "code")};
}

Json to_json(const TimeReply& r) {
  return {{"hash", r.hash},
          {"kernel_ns", r.kernel_ns},
          {"pack_ns", r.pack_ns},
          {"retaken", r.retaken},
          {"noisy", r.noisy},
          {"compile_ns", r.compile_ns},
          {"estimate_ns", r.estimate_ns},
          {"statistics", *Json::parse(statistics_json(r.statistics))},
          {"seconds", *Json::parse(activities_json(r.seconds))},
          {"dropped_reason", r.dropped_reason ? Json(*r.dropped_reason) : Json(nullptr)}};
}

TimeReply time_reply_from_json(const Json& json) {
  const Json& dropped = json.at("dropped_reason");
  const Json* const seconds = json.find("seconds");
  return {.hash = json.at("hash"),
          .kernel_ns = all_ns(json.at("kernel_ns")),
          .pack_ns = checked_ns(json.at("pack_ns")),
          .retaken = whole(json, "retaken"),
          .noisy = whole(json, "noisy"),
          .compile_ns = checked_ns(json.at("compile_ns")),
          .estimate_ns = checked_ns(json.at("estimate_ns")),
          .statistics = parse_statistics(json.at("statistics").dump()),
          .dropped_reason =
              dropped.is_null() ? std::nullopt : std::optional(dropped.get<std::string>()),
          .seconds = parse_activities(seconds == nullptr ? "" : seconds->dump())};
}

Json to_json(const CountRequest& r) {
  return {{"variant", to_string(r.variant)},
          {"problem", to_json(r.problem)},
          {"rotate_bytes", r.rotate_bytes}};
}

CountRequest count_request_from_json(const Json& json) {
  return {.variant = parse_variant(json.at("variant").get<std::string>()),
          .problem = problem_from_json(json.at("problem")),
          .rotate_bytes = json.at("rotate_bytes")};
}

Json to_json(const CounterReadings& readings) {
  Json counters = Json::array();
  for (const PerformanceCounter& c : readings.counters)
    counters.push_back({{"name", c.name},
                        {"category", c.category},
                        {"description", c.description},
                        {"unit", c.unit},
                        {"scope", c.scope},
                        {"value", c.value}});
  return {{"passes", readings.passes}, {"counters", counters}};
}

CounterReadings counter_readings_from_json(const Json& json) {
  CounterReadings readings{.passes = whole(json, "passes")};
  for (const Json& c : json.at("counters"))
    readings.counters.push_back({.name = c.at("name"),
                                 .category = c.at("category"),
                                 .description = c.at("description"),
                                 .unit = c.at("unit"),
                                 .scope = c.at("scope"),
                                 .value = c.at("value")});
  return readings;
}

Json certify_request(const Variant& variant, const Signature& signature, const std::string& code) {
  return {{"operation", "certify"},
          {"variant", to_string(variant)},
          {"signature", to_json(signature)},
          {"code", hex(code)}};
}

std::string code_of(const Json& certify_request) { return bytes_at(certify_request, "code"); }

Json to_json(const Certificate& c) {
  return {{"passed", c.passed},
          {"detail", c.detail},
          {"cases", c.cases},
          {"worst_ratio", c.worst_ratio}};
}

Certificate certificate_from_json(const Json& json) {
  return {.passed = json.at("passed"),
          .detail = json.at("detail"),
          .cases = whole(json, "cases"),
          .worst_ratio = or_infinity(json.at("worst_ratio"))};
}

Json to_json(const std::vector<Figure>& figures) {
  Json list = Json::array();
  for (const Figure& f : figures)
    list.push_back({{"name", f.name},
                    {"unit", f.unit},
                    {"value", f.value},
                    {"mad", f.mad},
                    {"count", f.count}});
  return list;
}

std::vector<Figure> figures_from_json(const Json& json) {
  std::vector<Figure> figures;
  for (const Json& f : json)
    figures.push_back({f.at("name"), f.at("unit"), f.at("value"), f.at("mad"), whole(f, "count")});
  return figures;
}

Json to_json(const std::vector<CalibrationPart>& parts) {
  Json list = Json::array();
  for (const CalibrationPart& part : parts)
    list.push_back({{"name", part.name}, {"seconds", part.seconds}});
  return list;
}
std::vector<CalibrationPart> parts_from_json(const Json& json) {
  std::vector<CalibrationPart> parts;
  for (const Json& part : json) parts.push_back({part.at("name"), part.at("seconds")});
  return parts;
}

}  // namespace rooftile
