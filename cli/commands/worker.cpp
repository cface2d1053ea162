#include "tuner/worker/worker.h"

#include "cli/command.h"

namespace rooftile {

void add_worker(CLI::App& app, Action& action) {
  // Hidden: `rooftile tune` starts it.
  CLI::App* command = app.add_subcommand("worker", "")->group("");
  command->callback([&] { action = run_worker; });
}

}  // namespace rooftile
