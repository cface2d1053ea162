#include "cli/command.h"
#include "cli/option_text.h"
#include "core/error.h"

namespace rooftile {

void add_help(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(kHelpCommand, "Show the options of a command");
  command->footer("Examples:\n  rooftile help tune\n  rooftile help db import");
  static std::vector<std::string> words;
  command->add_option("command", words, "The command; none: all commands");
  command->callback([&] {
    action = [&] {
      const CLI::App* wanted = &app;
      std::string name = app.get_name();
      for (const std::string& word : words) {
        const CLI::App* const next = find_command(*wanted, word);
        if (next == nullptr)
          fail(ErrorCode::kInvalidArgument, "there is no command '{}'; `{} --help` lists them",
               word, name);
        wanted = next;
        name += " " + word;
      }
      fmt::print("{}", app.get_formatter()->make_help(wanted, name, CLI::AppFormatMode::Normal));
      return kDone;
    };
  });
}

}  // namespace rooftile
