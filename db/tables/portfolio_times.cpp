#include "db/tables/portfolio_times.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/json_value.h"
#include "core/json_whole.h"

namespace rooftile {
namespace {

constexpr std::size_t kMostTimes = 4096, kSizes = 4, kShort = 5, kLong = 7;  // numbers of an entry
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;
constexpr double kMostNs = 1e18;

bool is_size(const JsonValue& number) {
  if (!number.is_number_integer()) return false;
  if (number.is_number_unsigned() && number.get<std::uint64_t>() > kMostSize) return false;
  const auto size = number.get<std::int64_t>();
  return size >= 1 && size <= kMostSize;
}

bool is_ns(const JsonValue& number) {
  if (number.is_null()) return true;
  return number.is_number() && number.get<double>() > 0 && number.get<double>() < kMostNs;
}

bool is_time(const JsonValue& entry) {
  return entry.is_array() && (entry.size() == kShort || entry.size() == kLong) &&
         std::all_of(entry.begin(), entry.begin() + kSizes, is_size) &&
         std::all_of(entry.begin() + kSizes, entry.end(), is_ns);
}

}  // namespace

// JSON has no infinity, so null stands for a problem that the kernel cannot run.
std::string times_json(std::span<const MeasuredTime> times) {
  JsonValue json = JsonValue::array();
  for (const MeasuredTime& t : times) {
    JsonValue entry = JsonValue::array();
    for (const std::int64_t size : {t.m, t.n, t.k, t.batch}) entry.push_back(size);
    entry.push_back(t.ns);
    if (t.half_ns)
      for (const double ns : *t.half_ns) entry.push_back(ns);
    json.push_back(std::move(entry));
  }
  return json.dump();
}

std::vector<MeasuredTime> parse_times(std::string_view text) {
  std::vector<MeasuredTime> times;
  const std::optional<JsonValue> json = JsonValue::parse(text);
  if (!json || !json->is_array()) return times;
  for (const JsonValue& entry : *json) {
    try {
      const JsonValue& ns = entry.at(4);
      MeasuredTime t = {
          .m = WholeNumber(entry.at(0), "m"),
          .n = WholeNumber(entry.at(1), "n"),
          .k = WholeNumber(entry.at(2), "k"),
          .batch = WholeNumber(entry.at(3), "batch"),
          .ns = ns.is_null() ? std::numeric_limits<double>::infinity() : ns.get<double>()};
      if (entry.size() > 6) {
        const std::array<double, 2> half_ns = {entry.at(5), entry.at(6)};
        if (std::ranges::min(half_ns) > 0) t.half_ns = half_ns;
      }
      if (std::min({t.m, t.n, t.k, t.batch}) > 0 && t.ns > 0) times.push_back(t);
    } catch (const Error&) {  // A size that is no whole number.
    }
  }
  return times;
}

bool is_times_json(std::string_view text) {
  const std::optional<JsonValue> json = JsonValue::parse(text);
  return json && json->is_array() && json->size() <= kMostTimes &&
         std::ranges::all_of(*json, is_time);
}

}  // namespace rooftile
