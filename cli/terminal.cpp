#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rooftile {

std::size_t terminal_columns(int descriptor) {
  constexpr std::size_t kUsual = 80;
  if (::isatty(descriptor) != 1) return 0;
  winsize size = {};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

void print_table(const TextTable& table, std::string_view indent) {
  fmt::print("{}", table.text(indent, terminal_columns(STDOUT_FILENO)));
}

}  // namespace rooftile
