#include "core/time_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/json_value.h"

namespace rooftile {
namespace {

struct ActivityNames {
  std::string_view name;   ///< In JSON.
  std::string_view words;  ///< Behind a number of seconds.
};
constexpr std::array<ActivityNames, kActivities> kNames = {{
    {"choosing", "choosing and storing"},
    {"kernels", "in kernels"},
    {"measuring", "measuring around them"},
    {"compiling", "compiling"},
    {"awaiting_compilers", "waiting for compilers"},
    {"clocks", "raising clocks"},
    {"operands", "making operands"},
    {"checks", "checking results"},
    {"certificates", "certifying"},
    {"reference", "reading the reference"},
    {"host", "beside the host"},
    {"starting", "starting workers"},
    {"failures", "in failures"},
    {"quiet_waits", "waiting for quiet"},
}};

}  // namespace

std::string activities_json(const ActivitySeconds& seconds) {
  std::string text;
  for (std::size_t i = 0; i < kActivities; ++i)
    if (const double rounded_us = std::round(1e6 * seconds[i]); rounded_us > 0)
      text += fmt::format("{}\"{}\":{:.6f}", text.empty() ? "" : ",", kNames[i].name,
                          1e-6 * rounded_us);
  return "{" + text + "}";
}

ActivitySeconds parse_activities(std::string_view json) {
  ActivitySeconds seconds = {};
  const std::optional<JsonValue> all = JsonValue::parse(json);
  if (!all || !all->is_object()) return seconds;
  for (std::size_t i = 0; i < kActivities; ++i) {
    const JsonValue* const one = all->find(kNames[i].name);
    if (one != nullptr && one->is_number()) seconds[i] = std::max(0.0, one->get<double>());
  }
  return seconds;
}

std::string activities_text(const ActivitySeconds& seconds) {
  constexpr double kLeastToldS = 0.05;
  std::vector<std::pair<double, std::string_view>> order;
  for (std::size_t i = 0; i < kActivities; ++i)
    if (seconds[i] >= kLeastToldS) order.emplace_back(seconds[i], kNames[i].words);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const auto& one) { return one.first; });
  std::string text;
  for (const auto& [s, what] : order)
    text += fmt::format("{}{:.1f} {}", text.empty() ? "" : ", ", s, what);
  return text;
}

TimeAccount::TimeAccount(Activity first, std::function<double()> clock)
    : clock_(std::move(clock)), current_(first), since_s_(clock_()) {}

Activity TimeAccount::enter(Activity activity) {
  const double at_s = clock_();
  at(current_) += at_s - std::exchange(since_s_, at_s);
  return std::exchange(current_, activity);
}

void TimeAccount::shift(Activity to, double seconds) {
  at(current_) -= seconds;
  at(to) += seconds;
}

void TimeAccount::shift(const ActivitySeconds& seconds) {
  for (std::size_t i = 0; i < kActivities; ++i) shift(static_cast<Activity>(i), seconds[i]);
}

ActivitySeconds TimeAccount::seconds() {
  enter(current_);
  return seconds_;
}

}  // namespace rooftile
