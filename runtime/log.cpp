#include "runtime/log.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_set>

namespace rooftile {

LogLevel log_level() {
  const char* setting = std::getenv("ROOFTILE_LOG");
  if (setting == nullptr) return LogLevel::kWarnings;
  const std::string_view text = setting;
  return text == "off"         ? LogLevel::kOff
         : text == "decisions" ? LogLevel::kDecisions
                               : LogLevel::kWarnings;
}

void log_line(std::string_view text) {
  const std::string line = fmt::format("rooftile: {}\n", text);
  std::fputs(line.c_str(), stderr);
}

void log_warning(std::string_view text) {
  if (log_level() != LogLevel::kOff) log_line(text);
}

void log_warning_once(const std::string& key, std::string_view text) {
  // Never destroyed: threads in the background may have something to say at the very end.
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::unordered_set<std::string>;
  {
    const std::lock_guard lock(mutex);
    if (!said.insert(key).second) return;
  }
  log_warning(text);
}

}  // namespace rooftile
