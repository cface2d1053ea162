// Export and import of tuning data.
#include <filesystem>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/refresh.h"
#include "cli/usage.h"
#include "core/error.h"
#include "db/store.h"
#include "web/exchange/import_results.h"

namespace rooftile {
namespace {

struct ExchangeArguments {
  std::string target;
  std::vector<std::string> files;
  std::string budget = "5m";
  bool force = false, certify = false;
};

int export_data(const Globals& globals, const ExchangeArguments& arguments) {
  const Store store(globals.database(), OpenMode::kReadOnly);
  std::vector<RowId> devices;
  for (const DeviceRecord& device : selected_records(globals, store)) devices.push_back(device.id);
  if (devices.empty())
    fail(ErrorCode::kUnsupported, "{} knows no device yet: run `rooftile tune`",
         store.path().string());
  std::error_code missing;
  // export_to refuses the database itself, forced or not.
  if (!arguments.force && !std::filesystem::equivalent(arguments.target, store.path(), missing))
    refuse_existing(arguments.target);
  store.export_to(arguments.target, devices);
  fmt::print("{}: data of {}\n", arguments.target,
             devices.size() == 1 ? "one device and driver"
                                 : fmt::format("{} devices and drivers", devices.size()));
  return kDone;
}

/// A database, or results that the page of `rooftile web` exported.
ImportReport import_file(Store& store, const std::string& file) {
  if (!web::is_results_file(file)) return store.import_from(file);
  return web::import_results(store, web::read_results(file));
}

/// Imports all files; a refused file does not stop the others. Returns the number of refused files.
std::size_t import_files(Store& store, const std::vector<std::string>& files) {
  if (!store.note().empty()) fmt::print(stderr, "rooftile: {}\n", store.note());
  std::size_t refused = 0;
  ImportReport all;
  for (const std::string& file : files) {
    try {
      const ImportReport added = import_file(store, file);
      all.devices += added.devices;
      all.calibrations += added.calibrations;
      all.runs += added.runs;
      all.samples += added.samples;
      all.winners += added.winners;
      fmt::print(
          "{}: {} devices, {} runs, {} samples, {} ranked kernels, {} kernels of portfolios{}\n",
          file, added.devices, added.runs, added.samples, added.winners, added.portfolio,
          brought_anything(added) ? "" : ": nothing new");
    } catch (const Error& error) {
      ++refused;
      fmt::print(stderr, "rooftile: {}\n", error.what());
    }
  }
  fmt::print(
      "{}: {} devices, {} runs, {} samples and {} ranked kernels added from {} of {} files\n",
      store.path().string(), all.devices, all.runs, all.samples, all.winners,
      files.size() - refused, files.size());
  return refused;
}

/// Same as import_files(), into a database that may be new. If every file is refused, a new
/// database is removed again. named: same as in StoreOptions.
std::size_t import_into(const std::filesystem::path& database, std::string_view named,
                        const std::vector<std::string>& files) {
  const bool is_new = !database_exists(database, named);
  std::size_t refused = 0;
  {
    Store store(database, {.named = named});
    refused = import_files(store, files);
  }
  if (std::error_code unknown; is_new && refused == files.size())
    std::filesystem::remove(database, unknown);
  return refused;
}

int merge(const ExchangeArguments& arguments) {
  return import_into(arguments.target, "", arguments.files) == 0 ? kDone : kFailure;
}

/// Also certifies data of earlier imports, whose certification the user may have interrupted.
int import_data(const Globals& globals, const ExchangeArguments& arguments) {
  TuneOptions options{.problems = {}, .budget_s = parse_budget_s(arguments.budget)};
  const std::size_t refused = import_into(globals.database(), kNamedByDefault, arguments.files);
  const int imported = refused == 0 ? kDone : kFailure;
  if (refused == arguments.files.size()) return imported;
  if (arguments.certify) {
    Store store(globals.database());
    const int certified = refresh_devices(store, selected_devices(globals), options);
    return certified != kDone ? certified : imported;
  }
  fmt::print(
      "no imported kernel is used before it is certified here: `rooftile tune --refresh` does that "
      "in seconds where the device and its driver are the same\n");
  return imported;
}

}  // namespace

void add_exchange(CLI::App& db, const Globals& globals, Action& action) {
  static ExchangeArguments arguments;
  CLI::App* exporting =
      db.add_subcommand("export", "Write tuned data to one file, for other machines");
  add_file(*exporting, "file", arguments.target, "The file to write, whole or not at all")
      ->required();
  exporting->add_flag("--force", arguments.force, "Replace the file if it exists");
  exporting->footer(
      "The data of all devices, or of those that --device matches: parameters and\n"
      "times, never code. docs/sharing.md lists what is not exported.\n"
      "Example: rooftile db export tuned.db");
  exporting->callback([&] { action = [&] { return export_data(globals, arguments); }; });

  CLI::App* importing = db.add_subcommand("import", "Add other machines' data to the database");
  importing
      ->add_option("files", arguments.files,
                   "Files from `rooftile db export`, or JSON from the page of `rooftile web`")
      ->required();
  importing->add_flag(
      "--certify", arguments.certify,
      "Then certify and time on this machine the kernels for its devices and drivers, in seconds, "
      "so that programs use them; `rooftile tune --refresh` does the same later");
  importing
      ->add_option(
          "--budget", arguments.budget,
          "Wall time of --certify for a device, calibration included: 60s, 3m (default 5m)")
      ->type_name("TIME")
      ->needs("--certify");
  importing->footer(
      "Imported kernels are used only after they are certified on this machine. Data of\n"
      "another device or driver only gives the search its starting points. Importing a\n"
      "file again adds only what is new.\n"
      "Example: rooftile db import tuned.db --certify");
  importing->callback([&] { action = [&] { return import_data(globals, arguments); }; });

  CLI::App* merging = db.add_subcommand(
      "merge", "Add exported files to a database file, which is created if it does not exist");
  add_file(*merging, "out", arguments.target, "The database file that gets all data")->required();
  merging->add_option("files", arguments.files, "Files from `rooftile db export`")->required();
  merging->footer("Example: rooftile db merge all.db tuned1.db tuned2.db");
  merging->callback([&] { action = [&] { return merge(arguments); }; });
}

}  // namespace rooftile
