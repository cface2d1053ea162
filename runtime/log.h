// What a program should hear of although its call succeeded.
#pragma once

#include <string>
#include <string_view>

namespace rooftile {

enum class LogLevel {
  kOff,        // ROOFTILE_LOG=off
  kWarnings,   // not set
  kDecisions,  // ROOFTILE_LOG=decisions: where each new problem goes, too
};
/// As the environment is now. Another value is kWarnings.
LogLevel log_level();

/// "rooftile: TEXT" on stderr. Thread-safe.
void log_line(std::string_view text);

/// The same, unless the level is kOff. Whoever calls sees to it that nothing is said twice.
void log_warning(std::string_view text);

/// The same, once a process for each key. Thread-safe.
void log_warning_once(const std::string& key, std::string_view text);

}  // namespace rooftile
