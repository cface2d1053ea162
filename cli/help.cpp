#include "cli/help.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace rooftile {
namespace {

constexpr std::size_t kLineColumns = 80, kNameColumns = 26;

/// Wraps the text at kLineColumns and indents all lines but the first. column: where the first line
/// begins.
std::string wrapped(std::string_view text, std::size_t column, std::size_t indent) {
  std::string result;
  std::size_t at = column;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const bool first = at == column && result.empty();
    if (!first && at + 1 + word.size() > kLineColumns) {
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

/// The placeholder of an option's value and the list of its legal values. CLI11 gives both as one
/// text: "NAME:{a,b}" becomes "NAME" and "a, b".
std::pair<std::string, std::string> value_of(const CLI::Option& option) {
  std::string type = option.get_type_name();
  const std::size_t colon = type.find(":{");
  if (colon == std::string::npos) return {type, ""};
  const std::string choices = type.substr(colon + 2, type.size() - colon - 3);
  return {type.substr(0, colon), CLI::detail::find_and_replace(choices, ",", ", ")};
}

bool takes_value(const CLI::Option& option) { return option.get_type_size() != 0; }

/// "-o, --output FILE" or "<file>...".
std::string shown_name(const CLI::Option& option) {
  if (option.get_positional()) {
    const bool any_number = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
    return fmt::format("<{}>{}", option.get_name(true, false), any_number ? "..." : "");
  }
  const std::string name = CLI::detail::find_and_replace(option.get_name(false, true), ",", ", ");
  return takes_value(option) ? name + " " + value_of(option).first : name;
}

using Options = std::set<CLI::Option*>;

/// "--a, --b" in the order of the command.
std::string names(const CLI::App& app, const Options& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options({}))
    if (std::ranges::find(options, option) != options.end()) names.push_back(option->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Options that exclude this one. Each pair is listed once: at the option that excludes more.
Options ruled_out(const CLI::Option& option) {
  Options others = option.get_excludes();
  const std::size_t own = others.size();
  std::erase_if(others, [&](CLI::Option* other) { return other->get_excludes().size() > own; });
  return others;
}

std::string entry(const CLI::App& app, const CLI::Option& option) {
  std::string text = option.get_description();
  if (const std::string choices = value_of(option).second; !choices.empty())
    text += "; one of " + choices;
  if (option.get_required() && !option.get_positional()) text += "; must be given";
  if (const std::string needed = names(app, option.get_needs()); !needed.empty())
    text += "; only with " + needed;
  if (const std::string others = names(app, ruled_out(option)); !others.empty())
    text += "; not with " + others;
  return entry(shown_name(option), text);
}

std::string usage(const CLI::App& app, const std::string& name) {
  std::string line = "Usage: " + name;
  for (const CLI::Option* option : app.get_options({}))
    if (option->get_required())
      line += " " +
              (option->get_snames().empty()
                   ? shown_name(*option)
                   : fmt::format("-{} {}", option->get_snames().front(), value_of(*option).first));
  line += " [option...]";
  if (!app.get_subcommands({}).empty()) line += " <command>";
  // Only a command that runs a program is a prefix command.
  if (app.get_prefix_command()) line += " -- PROGRAM [ARGUMENT...]";
  return wrapped(line, 0, 2) + "\n";
}

/// A heading with its entries below, or nothing where there are none.
std::string section(const std::string& heading, const std::string& entries) {
  return entries.empty() ? "" : fmt::format("\n{}:\n{}", heading, entries);
}

}  // namespace

std::string HelpText::make_help(const CLI::App* app, std::string name,
                                CLI::AppFormatMode /*mode*/) const {
  std::string text;
  for (const std::string& line : CLI::detail::split(app->get_description(), '\n'))
    text += wrapped(line, 0, 0) + "\n";
  text += "\n" + usage(*app, name);
  std::string arguments, commands;
  for (const CLI::Option* option : app->get_options({}))
    if (option->get_positional()) arguments += entry(*app, *option);
  text += section("Arguments", arguments);
  for (const CLI::App* command : app->get_subcommands({}))
    if (!command->get_group().empty())
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
    text += "\nEvery command takes --db and --device, too: `rooftile --help`.\n";
  return app->get_footer().empty() ? text : text + "\n" + app->get_footer() + "\n";
}

}  // namespace rooftile
