// What a program should hear of although its call succeeded.
#pragma once

#include <string_view>

namespace rooftile {

/// "rooftile: TEXT" on stderr, unless ROOFTILE_LOG is "off". Whoever calls sees to it that nothing is
/// said twice. Thread-safe.
void log_warning(std::string_view text);

}  // namespace rooftile
