#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

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
  const auto given = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  return terminal_columns(descriptor) > 1 && given("TERM") != "dumb" && given("NO_COLOR").empty();
}

void print_table(const TextTable& table, std::string_view indent) {
  fmt::print("{}", table.text(indent, terminal_columns(STDOUT_FILENO)));
}

namespace {

/// One line, broken. A word that does not fit is left whole, so that a path can be copied.
std::string broken(std::string_view line, std::size_t columns) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::string result(line.substr(0, indent));
  std::size_t at = indent, words = 0;
  for (line.remove_prefix(indent); !line.empty();) {
    const std::size_t gap = line.find_first_not_of(' ');
    if (gap == std::string_view::npos) break;
    const std::string_view word = line.substr(gap, line.find(' ', gap) - gap);
    const std::size_t width = display_width(word);
    if (words++ > 0 && at + gap + width > columns) {
      result += "\n" + std::string(indent + 2, ' ');
      at = indent + 2;
    } else {
      result.append(gap, ' ');
      at += gap;
    }
    result += word;
    at += width;
    line.remove_prefix(gap + word.size());
  }
  return result;
}

}  // namespace

void print_lines(std::string_view text) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  if (columns == 0) {
    fmt::print("{}", text);
    return;
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    fmt::print("{}{}", display_width(line) > columns ? broken(line, columns) : std::string(line),
               end < text.size() ? "\n" : "");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace rooftile
