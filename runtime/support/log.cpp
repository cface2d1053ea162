#include "runtime/support/log.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "runtime/support/said_once.h"

namespace rooftile {
namespace {

std::atomic<SaidOnce*> said = SaidOnce::make();

}  // namespace

LogLevel log_level() {
  const char* setting = ::secure_getenv("ROOFTILE_LOG");
  if (setting == nullptr) return LogLevel::kWarnings;
  const std::string_view text = setting;
  return text == "off"         ? LogLevel::kOff
         : text == "decisions" ? LogLevel::kDecisions
                               : LogLevel::kWarnings;
}

bool is_log_level(std::string_view value) {
  return value.empty() || value == "off" || value == "warnings" || value == "decisions";
}

void log_line(std::string_view text) {
  const std::string line = fmt::format("rooftile: {}\n", text);
  std::fputs(line.c_str(), stderr);
}

void OnceLog::say(const std::string& line, const std::string& subject) {
  constexpr std::size_t kMostLines = 10'000;
  const std::lock_guard lock(mutex_);
  if (said_.size() < kMostLines && said_.insert(subject).second) log_line(line);
}

void log_warning(std::string_view text) {
  if (log_level() != LogLevel::kOff) log_line(text);
}

void log_warning_once(const std::string& key, std::string_view text) {
  if (said.load()->first(key.c_str())) log_warning(text);
}

void share_warnings(SaidOnce* shared) {
  if (shared != nullptr) said.store(shared);
}

}  // namespace rooftile
