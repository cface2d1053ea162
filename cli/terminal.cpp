#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace rooftile {

std::size_t terminal_columns(int descriptor) {
  constexpr std::size_t kUsual = 80;
  if (::isatty(descriptor) != 1) return 0;
  if (const char* given = std::getenv("COLUMNS")) {
    std::size_t columns = 0;
    const char* end = given + std::strlen(given);
    if (std::from_chars(given, end, columns) == std::from_chars_result{end, std::errc()} &&
        columns > 0)
      return columns;
  }
  winsize size = {};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

bool can_redraw(int descriptor) {
  const char* kind = std::getenv("TERM");
  return terminal_columns(descriptor) > 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

void print_table(const TextTable& table, std::string_view indent) {
  fmt::print("{}", table.text(indent, terminal_columns(STDOUT_FILENO)));
}

}  // namespace rooftile
