// Warnings and log lines for programs whose calls succeed.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

namespace rooftile {

enum class LogLevel {
  kOff,        // ROOFTILE_LOG=off
  kWarnings,   // ROOFTILE_LOG=warnings, or not set
  kDecisions,  ///< ROOFTILE_LOG=decisions: also the tier of each new problem.
};
/// Level of the current environment. An unknown value counts as kWarnings; check_environment()
/// reports it.
LogLevel log_level();
/// Whether ROOFTILE_LOG knows the value; "" is known.
bool is_log_level(std::string_view value);

/// Writes "rooftile: TEXT" to stderr. Thread-safe.
void log_line(std::string_view text);

/// Writes the first line of each subject, although threads decide independently and may forget a
/// decision; 10,000 lines at most. Thread-safe.
class OnceLog {
 public:
  void say(const std::string& line) { say(line, line); }
  void say(const std::string& line, const std::string& subject);

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> said_;
};

/// Same as log_line(), unless the level is kOff. The caller ensures that nothing is printed twice.
void log_warning(std::string_view text);

/// Same as log_warning(), once for each key in this process and its forked children. Thread-safe.
void log_warning_once(const std::string& key, std::string_view text);

class SaidOnce;
/// From now on `said` records which warnings were printed. The drop-in passes its own record,
/// because it was loaded, and may have forked, before this library was. Null changes nothing.
void share_warnings(SaidOnce* said);

}  // namespace rooftile
