#include "formats/result_json.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/groups.h"
#include "db/tables/records_json.h"

namespace rooftile {
namespace {

constexpr std::int64_t kLargestSize = 1 << 20;
constexpr std::size_t kLongestText = 1000;

// Strides by name, in the order of their output.
constexpr std::array<std::pair<const char*, std::int64_t Problem::*>, 6> kStrides = {
    {{"lda", &Problem::lda},
     {"ldb", &Problem::ldb},
     {"ldc", &Problem::ldc},
     {"stride_a", &Problem::stride_a},
     {"stride_b", &Problem::stride_b},
     {"stride_c", &Problem::stride_c}}};

/// A member that is a whole number from least to most; `otherwise` where it is missing.
std::int64_t whole(const Json& json, const char* name, std::int64_t least, std::int64_t most,
                   std::int64_t otherwise) {
  const auto at = json.find(name);
  if (at == json.end()) return otherwise;
  const bool fits = at->is_number_integer() &&
                    (!at->is_number_unsigned() ||
                     at->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (!fits || at->get<std::int64_t>() < least || at->get<std::int64_t>() > most)
    refuse("'{}' is {}, not a whole number from {} to {}", name, printable(at->dump()), least,
           most);
  return at->get<std::int64_t>();
}

std::uint32_t word(const Json& json, const char* name) {
  return static_cast<std::uint32_t>(whole(json, name, 0, 0xffffffff, 0));
}

bool flag(const Json& json, const char* name) {
  const auto at = json.find(name);
  if (at == json.end()) return false;
  if (!at->is_boolean()) refuse("'{}' is {}, not true or false", name, printable(at->dump()));
  return at->get<bool>();
}

std::string text(const Json& json, const char* name, std::string otherwise) {
  const auto at = json.find(name);
  if (at == json.end()) return otherwise;
  if (!at->is_string()) refuse("'{}' is {}, not text", name, printable(at->dump()));
  const auto& value = at->get_ref<const std::string&>();
  if (value.size() > kLongestText)
    refuse("'{}' has {} bytes, more than {}", name, value.size(), kLongestText);
  return value;
}

double scalar(const Json& json, const char* name, double otherwise, const Types& types) {
  const auto at = json.find(name);
  if (at == json.end()) return otherwise;
  const double value = at->is_number() ? scalar_of(types, at->get<double>())
                                       : std::numeric_limits<double>::infinity();
  if (!std::isfinite(value))
    refuse("'{}' is {}, not a number of {}", name, printable(at->dump()),
           is_float64(types) ? "float64" : "float32");
  return value;
}

const Json& object(const Json& json, std::string_view what) {
  if (!json.is_object()) refuse("{} is {}, not an object", what, printable(json.dump(), 40));
  return json;
}

/// A parameter's value as text.
std::string value_text(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return value.dump();
  // Python's tools turn whole numbers into floats easily.
  if (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()) &&
      std::abs(value.get<double>()) < 1e6)
    return fmt::to_string(static_cast<std::int64_t>(value.get<double>()));
  refuse("the parameter '{}' is {}, neither a whole number nor a name", printable(name),
         printable(value.dump(), 40));
}

}  // namespace

std::string json_damage(const Json::exception& error) {
  // "[...] parse error at PLACE: SYNTAX; last read: 'TEXT'", or "[...] number overflow parsing
  // 'TEXT'".
  const std::string_view what = error.what();
  const auto between = [&](std::string_view before, std::string_view behind) {
    const std::size_t found = what.find(before), from = found + before.size();
    return found == what.npos ? "" : printable(what.substr(from, what.find(behind, from) - from));
  };
  const std::string overflow = between("number overflow parsing ", "\n"),
                    place = between("parse error at ", ": "), read = between("last read: ", "\n");
  if (!overflow.empty()) return fmt::format("it holds {}, which is beyond float64", overflow);
  const bool literal = what.find("invalid literal") != what.npos || read.starts_with("'-I");
  return fmt::format("it is damaged JSON{}{}{}", place.empty() ? "" : " at " + place,
                     read.empty() ? "" : ": " + read,
                     literal ? " (NaN and Infinity are no JSON)" : "");
}

std::string printable(std::string_view text, std::size_t most) {
  std::string clean(text.substr(0, most));
  for (char& c : clean)
    if (c < ' ' || c > '~') c = '?';
  return clean;
}

nlohmann::ordered_json problem_json(const Problem& p) {
  nlohmann::ordered_json json = {{"m", p.m},
                                 {"n", p.n},
                                 {"k", p.k},
                                 {"type", to_string(p.types)},
                                 {"trans_a", p.trans_a == Transpose::kYes},
                                 {"trans_b", p.trans_b == Transpose::kYes}};
  if (p.batch != 1) json["batch"] = p.batch;
  if (any(p.epilogue)) json["epilogue"] = to_string(p.epilogue);
  if (p.alpha != 1) json["alpha"] = p.alpha;
  if (p.beta != 0) json["beta"] = p.beta;
  if (is_grouped(p)) {
    json["groups"] = p.grouping.groups;
    json["experts"] = p.grouping.experts;
    json["largest"] = p.grouping.largest;
  }
  const Problem plain = is_grouped(p)
                            ? grouped_problem(p.m, p.n, p.k, p.grouping, p.trans_b, p.types)
                            : packed_problem(p.m, p.n, p.k, p.trans_a, p.trans_b, p.batch, p.types);
  for (const auto& [name, member] : kStrides)
    if (p.*member != plain.*member) json[name] = p.*member;
  return json;
}

Problem parse_problem(const Json& json) {
  object(json, "'problem'");
  const auto size = [&](const char* name, std::int64_t otherwise) {
    const std::int64_t value = whole(json, name, 1, kLargestSize, otherwise);
    if (value == 0) refuse("'{}' of the problem is missing", name);
    return value;
  };
  const auto transpose = [&](const char* name) {
    return flag(json, name) ? Transpose::kYes : Transpose::kNo;
  };
  const Types types = parse_types(text(json, "type", "f32"));
  validate(types);
  Problem p = packed_problem(size("m", 0), size("n", 0), size("k", 0), transpose("trans_a"),
                             transpose("trans_b"), size("batch", 1), types);
  if (json.contains("groups")) {
    const Problem single = p;
    p = grouped_problem(p.m, p.n, p.k,
                        {.experts = whole(json, "experts", 1, kMostTunedGroups, 1),
                         .groups = whole(json, "groups", 1, kMostTunedGroups, 1),
                         .largest = whole(json, "largest", 0, p.m, 0)},
                        p.trans_b, types);
    p.trans_a = single.trans_a;  // validate() refuses both.
    p.batch = single.batch;
  }
  p.epilogue = parse_epilogue(text(json, "epilogue", ""));
  p.alpha = scalar(json, "alpha", 1, types);
  p.beta = scalar(json, "beta", 0, types);
  for (const auto& [name, member] : kStrides)
    p.*member = whole(json, name, 0, std::int64_t{1} << 40, p.*member);
  validate(p);
  return p;
}

nlohmann::ordered_json configuration_json(const Variant& v) {
  return nlohmann::ordered_json::parse(parameters_json(v));
}

Variant parse_configuration(const Json& json) {
  object(json, "'configuration'");
  const std::vector<std::string> known = parameter_names();
  if (json.size() > known.size())
    refuse("its configuration has {} parameters, and Rooftile's kernels have {}", json.size(),
           known.size());
  for (const auto& [name, value] : json.items())
    if (std::ranges::find(known, name) == known.end())
      refuse(
          "no kernel of Rooftile has the parameter '{}' (theirs are {}); times of other programs' "
          "kernels say nothing about them",
          printable(name), fmt::join(known, ", "));
  if (!json.contains("family")) refuse("its configuration does not name a family of kernels");
  Variant variant;
  for (const auto& [name, value] : json.items()) {
    const std::string setting = value_text(name, value);
    try {
      set_parameter(variant, name, setting);
    } catch (const Error& error) {
      refuse("{}", printable(error.what()));
    }
  }
  return variant;
}

nlohmann::ordered_json device_json(const DeviceProfile& d) {
  return {{"name", d.name},
          {"uuid", d.device_uuid},
          {"vendor_id", d.vendor_id},
          {"product_id", d.device_id},
          {"driver_id", d.driver_id},
          {"driver_version", d.driver_version},
          {"pipeline_cache_uuid", d.pipeline_cache_uuid},
          {"driver_name", d.driver_name},
          {"driver_info", d.driver_info},
          {"kind", name(d.kind)},
          {"api_version", d.api_version},
          {"memory_bytes", d.device_memory_bytes},
          {"unified_memory", d.unified_memory},
          {"limits", nlohmann::ordered_json::parse(limits_json(d.limits))}};
}

DeviceProfile parse_device(const Json& json) {
  object(json, "a device");
  DeviceProfile d;
  d.name = text(json, "name", "");
  d.device_uuid = text(json, "uuid", "");
  d.pipeline_cache_uuid = text(json, "pipeline_cache_uuid", "");
  if (d.device_uuid.empty() || d.pipeline_cache_uuid.empty())
    refuse("a device has no 'uuid' or no 'pipeline_cache_uuid'");
  for (const std::string& identity : {d.device_uuid, d.pipeline_cache_uuid})
    if (identity.size() > 64 ||
        identity.find_first_not_of("0123456789abcdefABCDEF-") != std::string::npos)
      refuse("a device has the identity '{}', which no driver reports", printable(identity, 64));
  d.vendor_id = word(json, "vendor_id");
  d.device_id = word(json, "product_id");
  d.driver_id = word(json, "driver_id");
  d.driver_version = word(json, "driver_version");
  d.driver_name = text(json, "driver_name", "");
  d.driver_info = text(json, "driver_info", "");
  const std::string kind = text(json, "kind", "other");
  for (const DeviceKind known : {DeviceKind::kDiscrete, DeviceKind::kIntegrated,
                                 DeviceKind::kSoftware, DeviceKind::kVirtual})
    if (kind == name(known)) d.kind = known;
  d.api_version = word(json, "api_version");
  d.device_memory_bytes = static_cast<std::uint64_t>(whole(json, "memory_bytes", 0, INT64_MAX, 0));
  d.unified_memory = flag(json, "unified_memory");
  if (const auto limits = json.find("limits"); limits != json.end())
    d.limits = parse_limits(object(*limits, "'limits'").dump());
  return d;
}

}  // namespace rooftile
