#include "db/exchange/foreign_values.h"

#include <algorithm>

#include "core/epilogue.h"
#include "core/error.h"
#include "core/types.h"

namespace rooftile {
namespace {

/// Each query returns a row for a suspicious value. Times of kernels are below 1e18 ns, 30 years.
struct Suspicion {
  const char* sql;
  std::string_view what;
};
constexpr Suspicion kSuspicions[] = {
    {"SELECT 1 FROM theirs.samples WHERE NOT is_time(created_at) LIMIT 1",
     "a sample with an invalid time"},
    {"SELECT 1 FROM theirs.runs WHERE NOT is_time(created_at) OR NOT is_time(ended_at) LIMIT 1",
     "a run with an invalid time"},
    {"SELECT 1 FROM theirs.runs WHERE NOT json_valid(settings) UNION ALL "
     "SELECT 1 FROM theirs.compiler_facts WHERE NOT json_valid(statistics) LIMIT 1",
     "settings or statistics that are not JSON"},
    {"SELECT 1 FROM theirs.calibrations WHERE NOT is_time(created_at) LIMIT 1",
     "a calibration with an invalid time"},
    {"SELECT 1 FROM theirs.calibrations WHERE key GLOB '*[^0-9A-Za-z ._:-]*' LIMIT 1",
     "a calibration with an invalid key"},
    {"SELECT 1 FROM theirs.compiler_facts WHERE NOT is_time(created_at) LIMIT 1",
     "compiler facts with an invalid time"},
    {"SELECT 1 FROM theirs.winners WHERE NOT is_time(created_at) UNION ALL "
     "SELECT 1 FROM theirs.imported_winners WHERE NOT is_time(created_at) LIMIT 1",
     "a ranked list with an invalid time"},
    {"SELECT 1 FROM theirs.portfolio WHERE NOT is_time(created_at) UNION ALL "
     "SELECT 1 FROM theirs.imported_portfolio WHERE NOT is_time(created_at) LIMIT 1",
     "a portfolio with an invalid time"},
    {"SELECT 1 FROM theirs.black_list WHERE NOT is_time(created_at) UNION ALL "
     "SELECT 1 FROM theirs.imported_black_list WHERE NOT is_time(created_at) LIMIT 1",
     "a black list with an invalid time"},
    {"SELECT 1 FROM theirs.samples WHERE NOT (kernel_ns < 1e18 AND kernel_mad_ns < 1e18 AND"
     " abs(kernel_low_ns) < 1e18 AND abs(kernel_high_ns) < 1e18 AND pack_ns < 1e18 AND"
     " compile_ns < 1e18 AND level < 1e18) LIMIT 1",
     "a sample that took longer than any timeout"},
    {"SELECT 1 FROM theirs.winners WHERE NOT (kernel_ns < 1e18 AND pack_ns < 1e18) UNION ALL "
     "SELECT 1 FROM theirs.imported_winners WHERE NOT (kernel_ns < 1e18 AND pack_ns < 1e18)"
     " LIMIT 1",
     "a winner that took longer than any timeout"},
    // The tuner makes a list of the groups.
    {"SELECT 1 FROM theirs.problems WHERE NOT (groups <= 1048576 AND largest <= m) LIMIT 1",
     "a problem with impossible groups"},
    {"SELECT 1 FROM theirs.counter_sets WHERE NOT is_time(created_at) LIMIT 1",
     "counters with an invalid time"},
    {"SELECT 1 FROM theirs.counters WHERE NOT abs(value) < 1e300 LIMIT 1",
     "a counter that is not finite"},
    {"SELECT 1 FROM theirs.calibration_figures WHERE NOT (abs(value) < 1e300 AND mad < 1e300)"
     " LIMIT 1",
     "a measurement that is not finite"},
};

}  // namespace

std::string_view find_suspicious(Connection& connection) {
  for (const Suspicion& suspicion : kSuspicions)
    if (Sql(connection, suspicion.sql).step()) return suspicion.what;
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
