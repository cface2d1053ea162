#include "cli/option_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace rooftile {
namespace {

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

}  // namespace

OptionValue value_of(const CLI::Option& option) {
  // CLI11 gives both as one text: "NAME:{a,b}".
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(":{");
  if (colon == std::string::npos) return {type, {}};
  return {type.substr(0, colon),
          CLI::detail::split(type.substr(colon + 2, type.size() - colon - 3), ',')};
}

bool takes_any_number(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::string shown_name(const CLI::Option& option) {
  if (option.get_positional())
    return fmt::format("<{}>{}", option.get_name(true, false),
                       takes_any_number(option) ? "..." : "");
  const std::string name = CLI::detail::find_and_replace(option.get_name(false, true), ",", ", ");
  return takes_value(option) ? name + " " + value_of(option).placeholder : name;
}

std::string full_description(const CLI::App& app, const CLI::Option& option) {
  std::string text = option.get_description();
  if (const std::vector<std::string> choices = value_of(option).choices; !choices.empty())
    text += fmt::format("; one of {}", fmt::join(choices, ", "));
  if (option.get_required() && !option.get_positional()) text += "; must be given";
  if (const std::string needed = names(app, option.get_needs()); !needed.empty())
    text += "; only with " + needed;
  if (const std::string others = names(app, ruled_out(option)); !others.empty())
    text += "; not with " + others;
  return text;
}

std::string usage_line(const CLI::App& app, const std::string& name) {
  std::string line = name;
  for (const CLI::Option* option : app.get_options({}))
    if (option->get_required())
      line +=
          " " + (option->get_snames().empty() ? shown_name(*option)
                                              : fmt::format("-{} {}", option->get_snames().front(),
                                                            value_of(*option).placeholder));
  line += " [option...]";
  if (!app.get_subcommands({}).empty()) line += " <command>";
  // Only a command that runs a program is a prefix command.
  if (app.get_prefix_command()) line += " -- PROGRAM [ARGUMENT...]";
  return line;
}

std::vector<FooterPart> footer_parts(const CLI::App& app) {
  std::vector<FooterPart> parts;
  for (const std::string& line : CLI::detail::split(app.get_footer(), '\n')) {
    const bool is_prose = !line.starts_with(' ') && !line.starts_with("Example");
    if (is_prose && !parts.empty() && parts.back().is_prose)
      parts.back().text += " " + line;
    else
      parts.push_back({is_prose, is_prose ? line : line + "\n"});
  }
  return parts;
}

std::vector<const CLI::App*> public_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands = app.get_subcommands({});
  std::erase_if(commands, [](const CLI::App* command) { return command->get_group().empty(); });
  return commands;
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : public_commands(app))
    if (command->get_name() == name) return command;
  return nullptr;
}

}  // namespace rooftile
