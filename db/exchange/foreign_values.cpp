#include "db/exchange/foreign_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/epilogue.h"
#include "core/error.h"
#include "core/types.h"

namespace rooftile {
namespace {

/// holds: a condition that every row of the table fulfils; a condition that is NULL, because a
/// value is, counts as fulfilled. what: a row that does not fulfil it. Times of kernels are below
/// 1e18 ns, 30 years.
struct Rule {
  std::string_view table, holds, what;
};
constexpr std::string_view kTime = "is_time(created_at)",
                           kNs = "kernel_ns < 1e18 AND pack_ns < 1e18",
                           kListTime = "a ranked list with an invalid time",
                           kPortfolioTime = "a portfolio with an invalid time",
                           kBlackListTime = "a black list with an invalid time",
                           kLongTime = "a winner that took longer than any timeout",
                           kNoJson = "settings or statistics that are not JSON";
constexpr Rule kRules[] = {
    {"samples", kTime, "a sample with an invalid time"},
    {"samples",
     "kernel_ns < 1e18 AND kernel_mad_ns < 1e18 AND abs(kernel_low_ns) < 1e18 AND"
     " abs(kernel_high_ns) < 1e18 AND pack_ns < 1e18 AND compile_ns < 1e18 AND level < 1e18",
     "a sample that took longer than any timeout"},
    {"runs", "is_time(created_at) AND is_time(ended_at)", "a run with an invalid time"},
    {"runs", "json_valid(settings)", kNoJson},
    {"compiler_facts", "json_valid(statistics)", kNoJson},
    {"compiler_facts", kTime, "compiler facts with an invalid time"},
    {"calibrations", kTime, "a calibration with an invalid time"},
    {"calibrations", "key NOT GLOB '*[^0-9A-Za-z ._:-]*'", "a calibration with an invalid key"},
    {"calibration_figures", "abs(value) < 1e300 AND mad < 1e300",
     "a measurement that is not finite"},
    {"winners", kTime, kListTime},
    {"winners", kNs, kLongTime},
    {"imported_winners", kTime, kListTime},
    {"imported_winners", kNs, kLongTime},
    {"portfolio", kTime, kPortfolioTime},
    {"imported_portfolio", kTime, kPortfolioTime},
    {"black_list", kTime, kBlackListTime},
    {"imported_black_list", kTime, kBlackListTime},
    // The tuner makes a list of the groups.
    {"problems", "groups <= 1048576 AND largest <= m", "a problem with impossible groups"},
    {"counter_sets", kTime, "counters with an invalid time"},
    {"counters", "abs(value) < 1e300", "a counter that is not finite"},
};

}  // namespace

std::string_view find_suspicious(Connection& connection) {
  for (const Rule& rule : kRules)
    if (SQLite::Statement broken(
            connection.database(),
            fmt::format("SELECT 1 FROM theirs.{} WHERE NOT ({}) LIMIT 1", rule.table, rule.holds));
        broken.executeStep())
      return rule.what;
  return {};
}

bool is_signature(std::string_view text) {
  constexpr std::string_view kGrouped = ".grouped";
  if (text.ends_with(kGrouped)) text.remove_suffix(kGrouped.size());
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view transposes = text.substr(dot + 1, 2);
  const std::string_view epilogue = text.substr(std::min(text.size(), dot + 3));
  if (transposes.size() != 2 || transposes.find_first_not_of("nt") != std::string_view::npos ||
      (!epilogue.empty() && epilogue.front() != '.'))
    return false;
  try {
    parse_types(text.substr(0, dot));
    parse_epilogue(epilogue.empty() ? epilogue : epilogue.substr(1));
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace rooftile
