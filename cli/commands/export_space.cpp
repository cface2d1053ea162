#include "cli/commands/export_space.h"

#include <algorithm>
#include <functional>

#include "cli/output_file.h"
#include "cli/usage.h"
#include "core/count_text.h"
#include "core/error.h"
#include "tuner/search/frozen_space.h"

namespace rooftile {
namespace {

/// The only device of the database that --device selects; one of this machine before others.
DeviceRecord chosen_device(const Store& store, const Globals& globals) {
  const std::string wanted = globals.wanted_device();
  std::vector<DeviceRecord> matching;
  for (DeviceRecord& device : store.devices())
    if (globals.selects(device.profile) ||
        device.profile.driver_info.find(wanted) != std::string::npos)
      matching.push_back(std::move(device));
  const auto here = [&](const DeviceRecord& device) { return store.measured_here(device.id); };
  if (std::ranges::any_of(matching, here)) std::erase_if(matching, std::not_fn(here));
  if (matching.size() == 1) return matching.front();
  if (matching.empty())
    fail(ErrorCode::kUnsupported, "{} knows no device{}; `rooftile db stats` lists them",
         store.path().string(), globals.matching());
  fail(ErrorCode::kUnsupported, "{} knows {} devices{}; name one of them with --device",
       store.path().string(), matching.size(), globals.matching());
}

int export_space(const Globals& globals, const ProblemOptions& sizes, const std::string& file,
                 bool force) {
  if (!force) refuse_existing(file);
  const Store store(globals.database(), OpenMode::kReadOnly);
  const Problem problem = sizes.problem();
  OutputFile output(file);
  const FrozenSpace space = frozen_space(store, chosen_device(store, globals), problem);
  if (space.points.empty())
    fail(ErrorCode::kUnsupported,
         "{} has no measurements of {}; run `rooftile tune --strategy exhaustive` with these sizes",
         space.device, to_string(problem));
  output.write(to_csv(space));
  output.commit();
  fmt::print("{}: {} of {} on {} ({})\n", file, count_text(space.points.size(), "candidate"),
             to_string(problem), space.device, space.driver);
  return kDone;
}

}  // namespace

void add_export_space(CLI::App& db, const Globals& globals, Action& action) {
  CLI::App* command =
      db.add_subcommand("export-space", "Write all measurements of a problem's candidates as CSV");
  command->footer(
      "Examples:\n"
      "  rooftile tune --m 256 --n 256 --k 256 --strategy exhaustive --budget 2h\n"
      "  rooftile db export-space square.csv --m 256 --n 256 --k 256");
  static ProblemOptions sizes;
  static std::string file;
  static bool force = false;
  add_file(*command, "file", file, "The file to write; `rooftile-bench search` reads it")
      ->required();
  command->add_flag("--force", force, "Replace the file if it exists");
  sizes.add_to(*command, true);
  command->callback([&] { action = [&] { return export_space(globals, sizes, file, force); }; });
}

}  // namespace rooftile
