// What a program should hear of although its call succeeded.
#pragma once

#include <string>
#include <string_view>

namespace rooftile {

enum class LogLevel {
  kOff,        // ROOFTILE_LOG=off
  kWarnings,   // ROOFTILE_LOG=warnings, or not set
  kDecisions,  // ROOFTILE_LOG=decisions: where each new problem goes, too
};
/// As the environment is now. Another value is kWarnings; check_environment() reports it.
LogLevel log_level();
/// Whether ROOFTILE_LOG knows the value; "" is one.
bool is_log_level(std::string_view value);

/// "rooftile: TEXT" on stderr. Thread-safe.
void log_line(std::string_view text);

/// The same, unless the level is kOff. Whoever calls sees to it that nothing is said twice.
void log_warning(std::string_view text);

/// The same, once for each key in this process and the children that it forks. Thread-safe.
void log_warning_once(const std::string& key, std::string_view text);

class SaidOnce;
/// From now on what has been said is kept there: the drop-in was loaded, and may have forked,
/// before this library was. Null changes nothing.
void share_warnings(SaidOnce* said);

}  // namespace rooftile
