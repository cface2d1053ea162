// Descriptions of a command's options, made from their definitions: in --help, in the manual and to
// shells that complete words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rooftile {

struct OptionValue {
  std::string placeholder;           // "TIER"; empty for a flag
  std::vector<std::string> choices;  // the legal values, where there is a list of them
};
OptionValue value_of(const CLI::Option& option);
inline bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
bool takes_any_number(const CLI::Option& option);

/// "-o, --output FILE" or "<file>...".
std::string shown_name(const CLI::Option& option);
/// The description with the legal values, whether the option must be given, and which others it
/// needs or rules out.
std::string full_description(const CLI::App& app, const CLI::Option& option);
/// "rooftile gemm <a> <b> -o FILE [option...]". name: of the program and command.
std::string usage_line(const CLI::App& app, const std::string& name);
/// A footer in its parts: prose, whose lines may be broken anywhere, and text that stays as it is
/// (headings and examples), with its line breaks.
struct FooterPart {
  bool is_prose;
  std::string text;
};
std::vector<FooterPart> footer_parts(const CLI::App& app);
/// The commands below one that are for people, in their order: others have no group.
std::vector<const CLI::App*> public_commands(const CLI::App& app);
/// The command whose arguments are names of commands.
inline constexpr const char* kHelpCommand = "help";
/// The public command of this name below another one; null where there is none.
const CLI::App* find_command(const CLI::App& app, const std::string& name);

}  // namespace rooftile
