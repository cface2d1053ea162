#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/option_text.h"

namespace rooftile {
namespace {

/// Where the words before the last one have led to.
struct Position {
  const CLI::App* command;
  const CLI::Option* open = nullptr;  // an option whose value comes next
  std::size_t arguments = 0;          // positional ones that were given
  bool only_arguments = false;        // after "--"
  bool only_commands = false;         // after "help"
  std::set<const CLI::Option*> given;
  std::optional<std::size_t> program;  // position of the program of `rooftile run`
};

/// The option of a command, or of those above it.
const CLI::Option* find_option(const CLI::App* command, const std::string& name) {
  for (; command != nullptr; command = command->get_parent())
    if (const CLI::Option* option = command->get_option_no_throw(name)) return option;
  return nullptr;
}

void pass_option(Position& at, const std::string& word) {
  const std::size_t equals = word.find('=');
  const CLI::Option* option = find_option(at.command, word.substr(0, equals));
  if (option == nullptr) return;
  at.given.insert(option);
  if (takes_value(*option) && equals == std::string::npos) at.open = option;
}

Position position_after(const CLI::App& app, const std::vector<std::string>& words) {
  Position at{.command = &app};
  for (std::size_t i = 0; i + 1 < words.size() && !at.program; ++i) {
    const std::string& word = words[i];
    if (at.open != nullptr)
      at.open = nullptr;
    else if (word == "--" && !at.only_arguments)
      at.only_arguments = true;
    else if (word.starts_with("-") && word != "-" && !at.only_arguments)
      pass_option(at, word);
    else if (at.command->get_prefix_command() && !at.only_commands)
      at.program = i;
    else if (word == kHelpCommand && !at.only_commands && at.command == &app)
      at.only_commands = true;
    else if (const CLI::App* command = find_command(*at.command, word); command != nullptr)
      at.command = command;
    else
      ++at.arguments;
  }
  return at;
}

bool begins_so(const std::string& word, const std::string& beginning) {
  return word.starts_with(beginning);
}

bool ruled_out(const CLI::Option& option, const std::set<const CLI::Option*>& given) {
  if (given.contains(&option)) return true;
  return std::ranges::any_of(option.get_excludes(),
                             [&](const CLI::Option* other) { return given.contains(other); });
}

void add_options(const Position& at, const std::string& beginning, Completion& completion) {
  for (const CLI::App* command = at.command; command != nullptr; command = command->get_parent())
    for (const CLI::Option* option : command->get_options({})) {
      if (option->get_positional() || ruled_out(*option, at.given)) continue;
      if (command != at.command && option == command->get_help_ptr()) continue;
      std::vector<std::string> names;
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      if (names.empty() || beginning.size() == 2)  // "-o" is complete, too
        for (const std::string& name : option->get_snames()) names.push_back("-" + name);
      for (const std::string& name : names)
        if (begins_so(name, beginning))
          completion.suggestions.push_back({name, option->get_description()});
    }
}

void add_commands(const Position& at, const std::string& beginning, Completion& completion) {
  for (const CLI::App* command : public_commands(*at.command))
    if (begins_so(command->get_name(), beginning))
      completion.suggestions.push_back({command->get_name(), command->get_description()});
}

/// The argument that comes next; null where the command takes no more.
const CLI::Option* next_argument(const Position& at) {
  std::size_t left = at.arguments;
  for (const CLI::Option* option : at.command->get_options({})) {
    if (!option->get_positional()) continue;
    if (left == 0 || takes_any_number(*option)) return option;
    --left;
  }
  return nullptr;
}

/// Completes the value of an option or argument. before: what the value follows in its word.
void add_values(const CLI::Option& option, const Globals& globals,
                const std::vector<std::string>& words, const std::string& beginning,
                const std::string& before, Completion& completion) {
  for (Suggestion& value : value_suggestions(option, globals, words, beginning))
    completion.suggestions.push_back({before + value.word, std::move(value.description)});
  const std::string placeholder = value_of(option).placeholder;
  if (placeholder == "FILE") completion.also = AlsoPossible::kFiles;
  if (placeholder == "PREFIX") completion.also = AlsoPossible::kFiles;
  if (placeholder == "FOLDER") completion.also = AlsoPossible::kFolders;
}

}  // namespace

Completion complete(const CLI::App& app, const Globals& globals,
                    const std::vector<std::string>& words) {
  Completion completion;
  if (words.empty()) return completion;
  const std::string& word = words.back();
  const Position at = position_after(app, words);
  if (at.only_commands) {
    if (at.arguments == 0) add_commands(at, word, completion);
    return completion;
  }
  const bool is_option = word.starts_with("-") && !at.only_arguments;
  if (at.program || (at.command->get_prefix_command() && at.open == nullptr && !is_option)) {
    completion.also = AlsoPossible::kProgram;
    completion.program = at.program.value_or(words.size() - 1);
    return completion;
  }
  if (at.open != nullptr) {
    add_values(*at.open, globals, words, word, "", completion);
    return completion;
  }
  const std::size_t equals = word.find('=');
  if (is_option && equals != std::string::npos) {
    const CLI::Option* option = find_option(at.command, word.substr(0, equals));
    if (option != nullptr && takes_value(*option))
      add_values(*option, globals, words, word.substr(equals + 1), word.substr(0, equals + 1),
                 completion);
    return completion;
  }
  if (!is_option) {
    add_commands(at, word, completion);
    if (const CLI::Option* argument = next_argument(at))
      add_values(*argument, globals, words, word, "", completion);
  }
  const bool nothing_else =
      completion.suggestions.empty() && completion.also == AlsoPossible::kNothing;
  if (is_option || (word.empty() && nothing_else && !at.only_arguments))
    add_options(at, word, completion);
  return completion;
}

void print(const Completion& completion) {
  for (const Suggestion& suggestion : completion.suggestions) {
    std::string description = suggestion.description.substr(0, suggestion.description.find('\n'));
    std::ranges::replace(description, '\t', ' ');
    fmt::print("{}\t{}\n", suggestion.word, description);
  }
  switch (completion.also) {
    case AlsoPossible::kNothing:
      fmt::print(":none\n");
      break;
    case AlsoPossible::kFiles:
      fmt::print(":files\n");
      break;
    case AlsoPossible::kFolders:
      fmt::print(":folders\n");
      break;
    case AlsoPossible::kProgram:
      fmt::print(":program {}\n", completion.program);
      break;
  }
}

}  // namespace rooftile
