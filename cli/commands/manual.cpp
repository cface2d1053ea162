#include "cli/manual.h"

#include "cli/command.h"
#include "cli/usage.h"

namespace rooftile {

void add_manual(CLI::App& app, Action& action) {
  // Hidden: the build runs it, and installs what it writes.
  CLI::App* command = app.add_subcommand("manual", "Write the manual's pages")->group("");
  static std::string folder;
  add_file(*command, "folder", folder, "The folder that gets the pages")->required();
  command->callback([&] {
    action = [&] {
      write_manual(app, folder);
      return kDone;
    };
  });
}

}  // namespace rooftile
