// Tuned data from machine to machine.
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/refresh.h"
#include "core/error.h"
#include "db/store.h"

namespace rooftile {
namespace {

struct ExchangeArguments {
  std::string target;
  std::vector<std::string> files;
  std::string budget = "5m";
  bool force = false, certify = false;
};

int export_data(const Globals& globals, const ExchangeArguments& arguments) {
  if (arguments.target.empty())
    fail(ErrorCode::kInvalidArgument, "the name of the file to export to is empty");
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
  fmt::print("{}: what is known of {} devices and drivers\n", arguments.target, devices.size());
  return kDone;
}

/// A file that is refused costs only itself. Returns how many were.
std::size_t import_files(Store& store, const std::vector<std::string>& files) {
  if (!store.note().empty()) fmt::print(stderr, "rooftile: {}\n", store.note());
  std::size_t refused = 0;
  ImportReport all;
  for (const std::string& file : files) {
    try {
      const ImportReport added = store.import_from(file);
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

/// As import_files(), into a database that may be new. One that would stay empty because every file
/// was refused is not left behind.
std::size_t import_into(const std::filesystem::path& database,
                        const std::vector<std::string>& files) {
  std::error_code unknown;
  const bool is_new = !std::filesystem::exists(database, unknown);
  std::size_t refused = 0;
  {
    Store store(database);
    refused = import_files(store, files);
  }
  if (is_new && refused == files.size()) std::filesystem::remove(database, unknown);
  return refused;
}

/// A text, say, that was named by mistake must not be set aside as a damaged database.
void refuse_other_files(const std::filesystem::path& target) {
  constexpr std::string_view kHeader = "SQLite format 3";
  std::ifstream file(target, std::ios::binary);
  std::string header(kHeader.size(), '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  if (file.gcount() > 0 && header != kHeader)
    fail(ErrorCode::kIo, "{} exists and is not a database; it is left as it is: name another file",
         target.string());
}

int merge(const ExchangeArguments& arguments) {
  refuse_other_files(arguments.target);
  Store store(arguments.target);
  return import_files(store, arguments.files) == 0 ? kDone : kFailure;
}

/// Certifies even what an earlier import brought: the user may have stopped it.
int import_data(const Globals& globals, const ExchangeArguments& arguments) {
  TuneOptions options{.problems = {}, .budget_s = parse_budget_s(arguments.budget)};
  const std::size_t refused = import_into(globals.database(), arguments.files);
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
  exporting->add_option("file", arguments.target, "Written whole or not at all")->required();
  exporting->add_flag("--force", arguments.force, "Replace the file if it exists");
  exporting->footer(
      "Of all devices, or those that --device matches. Parameters and times, never code;\n"
      "docs/database.md says what stays here.");
  exporting->callback([&] { action = [&] { return export_data(globals, arguments); }; });

  CLI::App* importing = db.add_subcommand("import", "Add other machines' data to the database");
  importing->add_option("files", arguments.files, "From `rooftile db export`")->required();
  importing->add_flag(
      "--certify", arguments.certify,
      "Then certify and time on this machine what is for its devices and drivers, in seconds, so "
      "that programs use it; `rooftile tune --refresh` does the same later");
  importing
      ->add_option(
          "--budget", arguments.budget,
          "Wall time of --certify for a device, calibration included: 60s, 3m (default 5m)")
      ->needs("--certify");
  importing->footer(
      "Nothing imported is used before it is certified here. Data of another device or driver "
      "only\n"
      "tells the search where to start. The same file again adds only what is new.\n"
      "Example: rooftile db import tuned.db --certify");
  importing->callback([&] { action = [&] { return import_data(globals, arguments); }; });

  CLI::App* merging = db.add_subcommand("merge", "Add files to another one, made if need be");
  merging->add_option("out", arguments.target, "The file that gets all")->required();
  merging->add_option("files", arguments.files, "From `rooftile db export`")->required();
  merging->callback([&] { action = [&] { return merge(arguments); }; });
}

}  // namespace rooftile
