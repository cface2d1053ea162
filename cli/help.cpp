#include "cli/help.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/option_text.h"
#include "cli/terminal.h"

namespace rooftile {
namespace {

constexpr std::size_t kNameColumns = 26;

/// Columns of a line: those of the terminal as far as lines stay readable; 80 where there is none.
std::size_t line_columns() {
  constexpr std::size_t kFewest = 40, kUsual = 80, kMost = 100;
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  return columns == 0 ? kUsual : std::clamp(columns, kFewest, kMost);
}

/// Wraps the text and indents all lines but the first. column: where the first line begins.
std::string wrapped(std::string_view text, std::size_t column, std::size_t indent) {
  const std::size_t columns = line_columns();
  std::string result;
  std::size_t at = column;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const bool first = at == column && result.empty();
    if (!first && at + 1 + word.size() > columns) {
      result += fmt::format("\n{:{}}", "", indent);
      at = indent;
    } else if (!first) {
      result += ' ';
      ++at;
    }
    result += word;
    at += word.size();
  }
  return result;
}

/// One entry of a list: "  name   text". After a long name the text begins on the next line.
std::string entry(const std::string& name, const std::string& text) {
  std::string left = "  " + name;
  left += left.size() + 2 > kNameColumns ? fmt::format("\n{:{}}", "", kNameColumns)
                                         : std::string(kNameColumns - left.size(), ' ');
  return left + wrapped(text, kNameColumns, kNameColumns) + "\n";
}

std::string entry(const CLI::App& app, const CLI::Option& option) {
  return entry(shown_name(option), full_description(app, option));
}

/// A heading with its entries below, or nothing where there are none.
std::string section(const std::string& heading, const std::string& entries) {
  return entries.empty() ? "" : fmt::format("\n{}\n{}", wrapped(heading + ":", 0, 0), entries);
}

}  // namespace

std::string HelpText::make_help(const CLI::App* app, std::string name,
                                CLI::AppFormatMode /*mode*/) const {
  std::string text;
  for (const std::string& line : CLI::detail::split(app->get_description(), '\n'))
    text += wrapped(line, 0, 0) + "\n";
  text += "\n" + wrapped("Usage: " + usage_line(*app, name), 0, 2) + "\n";
  std::string arguments, commands;
  for (const CLI::Option* option : app->get_options({}))
    if (option->get_positional()) arguments += entry(*app, *option);
  text += section("Arguments", arguments);
  for (const CLI::App* command : public_commands(*app))
    commands += entry(command->get_name(), command->get_description());
  text += section("Commands", commands);
  for (const std::string& group : app->get_groups()) {
    std::string options;
    for (const CLI::Option* option : app->get_options({}))
      if (!option->get_positional() && option->get_group() == group)
        options += entry(*app, *option);
    text += section(group, options);
  }
  if (app->get_parent() != nullptr)
    text += "\n" + wrapped("Every command takes --db and --device, too: `rooftile --help`.", 0, 0) +
            "\n";
  if (app->get_footer().empty()) return text;
  text += "\n";
  for (const FooterPart& part : footer_parts(*app))
    text += part.is_prose ? wrapped(part.text, 0, 0) + "\n" : part.text;
  return text;
}

}  // namespace rooftile
