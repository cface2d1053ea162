#include "cli/usage.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "cli/option_text.h"

namespace rooftile {
namespace {

/// The last recognised command and its name: "db export" for `rooftile db export --bogus`.
struct Recognised {
  const CLI::App* app;
  std::string name;
};
Recognised recognised(const CLI::App& app) {
  Recognised found = {&app, ""};
  while (!found.app->get_subcommands().empty()) {
    found.app = found.app->get_subcommands().front();
    found.name += (found.name.empty() ? "" : " ") + found.app->get_name();
  }
  return found;
}

bool is_option(const std::string& word) { return word.starts_with("-"); }

/// Letters to insert, delete or replace until one word is the other (Levenshtein).
std::size_t letters_apart(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

/// A name that may have been meant, and the part of it that is compared.
struct Meant {
  std::string name, word;
};

/// " (did you mean 'budget'?)" where the only name begins so, or one is at most two letters away,
/// and fewer than half.
std::string nearest_of(const std::vector<Meant>& names, std::string word) {
  word = CLI::detail::to_lower(word);
  const auto apart = [&](const Meant& meant) { return letters_apart(meant.word, word); };
  const auto begins = [&](const Meant& meant) { return meant.word.starts_with(word); };
  auto nearest = std::ranges::min_element(names, {}, apart);
  if (word.size() > 2 && std::ranges::count_if(names, begins) == 1)
    nearest = std::ranges::find_if(names, begins);
  else if (nearest == names.end() || apart(*nearest) > 2 || 2 * apart(*nearest) >= word.size())
    return "";
  return fmt::format(" (did you mean '{}'?)", nearest->name);
}

std::vector<Meant> names_of_options(const CLI::App* command) {
  std::vector<Meant> names;
  for (; command != nullptr; command = command->get_parent())
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        names.push_back({"--" + name, "--" + name});
  return names;
}

/// The commands, and those of the commands that have some.
std::vector<Meant> names_of_commands(const CLI::App& app, const std::string& above = "") {
  std::vector<Meant> names;
  for (const CLI::App* command : public_commands(app)) {
    names.push_back({above + command->get_name(), command->get_name()});
    std::ranges::move(names_of_commands(*command, above + command->get_name() + " "),
                      std::back_inserter(names));
  }
  return names;
}

/// Message for a word that the command does not take.
std::string unknown_word(const Recognised& at, const std::string& word, const std::string& help) {
  const std::string& command = at.name;
  const std::string option = word.substr(0, word.find('='));
  const std::vector<Meant> options = names_of_options(at.app);
  if (std::ranges::find(options, option, &Meant::name) != options.end())
    return fmt::format("'{}' is an option of {} and has to stand behind that word", option,
                       command);
  if (is_option(word))
    return fmt::format("{} no option '{}'{}; {} lists them",
                       command.empty() ? "there is" : command + " has", word,
                       nearest_of(options, option), help);
  if (command.empty() || command == "db")
    return fmt::format("there is no command '{}'{}; {} lists them",
                       command.empty() ? word : command + " " + word,
                       nearest_of(names_of_commands(*at.app), word), help);
  return fmt::format("{} takes no argument '{}'; {} shows what it takes", command, word, help);
}

/// Splits "A excludes B" into "A" and "B". Both are empty when CLI11 words the message differently.
std::pair<std::string, std::string> parted(const std::string& text, const std::string& by) {
  const std::size_t at = text.find(by);
  if (at == std::string::npos) return {};
  return {text.substr(0, at), text.substr(at + by.size())};
}

/// Message for a missing required option or argument.
std::string missing_option(const Recognised& command, const std::string& name,
                           const std::string& help) {
  const CLI::Option* const option = command.app->get_option_no_throw(name);
  return fmt::format("{} needs {}{}; see {}", command.name,
                     option != nullptr && option->get_positional() ? shown_name(*option) : name,
                     option != nullptr ? fmt::format(" ({})", option->get_description()) : "",
                     help);
}

template <typename Number>
bool parse(const std::string& text, Number& value) {
  const char* const begin = text.data() + (text.starts_with("+") ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end && begin != end;
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const Recognised found = recognised(app);
  const std::string& command = found.name;
  const std::string help =
      command.empty() ? "`rooftile --help`" : fmt::format("`rooftile {} --help`", command);
  const std::string text = error.what();
  const bool required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  // CLI11 reports missing arguments before unknown words.
  if (const std::vector<std::string> unknown = app.remaining(true);
      !unknown.empty() && (required || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr))
    return unknown_word(found, unknown.front(), help);
  if (required && (command.empty() || command == "db"))
    return fmt::format("a command is missing{}; {} lists them", command.empty() ? "" : " after db",
                       help);
  if (required) return missing_option(found, parted(text, " is required").first, help);
  if (const auto [one, other] = parted(text, "Could not convert: "); !other.empty())
    return fmt::format("{}: not a value that the option takes; see {}", other, help);
  if (const auto [one, other] = parted(text, " excludes "); !one.empty())
    return fmt::format("{} and {} cannot be used together; see {}", one, other, help);
  if (const auto [one, other] = parted(text, " requires "); !one.empty())
    return fmt::format("{} needs {} as well; see {}", one, other, help);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    if (const std::string name = parted(text, ":").first; !name.empty())
      return fmt::format(
          "{} {}; see {}", name,
          text.ends_with("missing") ? "needs a value" : "has too few or too many values", help);
  return fmt::format("{}; see {}", text, help);
}

CLI::Validator whole_number(std::int64_t lowest, std::int64_t highest) {
  return {[=](const std::string& text) {
            std::int64_t value = 0;
            if (parse(text, value) && value >= lowest && value <= highest) return std::string();
            return fmt::format("'{}' is not a whole number from {} to {}", text, lowest, highest);
          },
          ""};
}

CLI::Validator finite_number() {
  return {[](const std::string& text) {
            double value = 0;
            if (!parse(text, value) || !std::isfinite(value))
              return fmt::format("'{}' is not a finite number", text);
            if (std::abs(value) <= std::numeric_limits<float>::max()) return std::string();
            return fmt::format("'{}' is beyond float32", text);
          },
          ""};
}

CLI::Validator positive_number() {
  return {[](const std::string& text) {
            double value = 0;
            if (parse(text, value) && std::isfinite(value) && value > 0) return std::string();
            return fmt::format("'{}' is not a number above 0", text);
          },
          ""};
}

CLI::Validator not_empty(std::string_view what) {
  return {[what](const std::string& text) {
            return text.empty() ? fmt::format("the {} is empty", what) : std::string();
          },
          ""};
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  return {[names](const std::string& text) {
            if (std::ranges::find(names, text) != names.end()) return std::string();
            return fmt::format("'{}' is unknown; known: {}", text, fmt::join(names, ", "));
          },
          fmt::format("{{{}}}", fmt::join(names, ","))};
}

CLI::Option* add_file(CLI::App& command, const std::string& name, std::string& file,
                      const std::string& description) {
  return command.add_option(name, file, description)
      ->type_name("FILE")
      ->check(not_empty("name of a file"));
}

}  // namespace rooftile
