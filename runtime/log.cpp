#include "runtime/log.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace rooftile {

void log_warning(std::string_view text) {
  const char* setting = std::getenv("ROOFTILE_LOG");
  if (setting != nullptr && std::string_view(setting) == "off") return;
  const std::string line = fmt::format("rooftile: {}\n", text);
  std::fputs(line.c_str(), stderr);
}

}  // namespace rooftile
