// Export and import of tuning data.
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cli/budget.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/refresh.h"
#include "cli/usage.h"
#include "core/count_text.h"
#include "core/error.h"
#include "core/files/temporary_name.h"
#include "db/store.h"
#include "formats/csv_export.h"
#include "formats/t4_export.h"
#include "formats/t4_import.h"
#include "web/exchange/import_results.h"

namespace rooftile {
namespace {

struct ExchangeArguments {
  std::string target;
  std::vector<std::string> files;
  std::string budget = "5m", format = "db";
  bool force = false, certify = false;
  ProblemOptions problem;
};

/// The problem of the options, where its sizes are given.
std::optional<Problem> named_problem(const ProblemOptions& sizes) {
  const int given = (sizes.m > 0) + (sizes.n > 0) + (sizes.k > 0);
  if (given % 3 != 0) fail(ErrorCode::kInvalidArgument, "--m, --n and --k go together");
  return given == 0 ? std::nullopt : std::optional(sizes.problem());
}

std::string devices_text(std::size_t count) {
  return count == 1 ? "one device and driver" : fmt::format("{} devices and drivers", count);
}

/// Writes samples in a format of other programs.
void export_samples(const Store& store, const std::vector<RowId>& devices,
                    const ExchangeArguments& arguments, const std::optional<Problem>& problem) {
  const RowFilter filter{.devices = devices, .problem = problem};
  OutputFile output(arguments.target);
  const auto write = [&](std::string_view text) { output.write(text); };
  const std::size_t rows = arguments.format == "t4"
                               ? export_t4(store, filter, ROOFTILE_VERSION, write)
                               : export_csv(store, filter, write);
  if (rows == 0)
    fail(ErrorCode::kUnsupported, "{} has no samples{}; `rooftile db stats` lists what it has",
         store.path().string(), problem ? fmt::format(" of {}", to_string(*problem)) : "");
  output.commit();
  // Anything else may be the standard output, whose reader wants nothing but the samples.
  if (std::error_code missing; std::filesystem::is_regular_file(arguments.target, missing))
    fmt::print("{}: {} of {}\n", arguments.target, count_text(rows, "sample"),
               devices_text(devices.size()));
}

int export_data(const Globals& globals, const ExchangeArguments& arguments) {
  const std::optional<Problem> problem = named_problem(arguments.problem);
  if (problem && arguments.format == "db")
    fail(ErrorCode::kInvalidArgument,
         "--format db exports all problems; one alone can be exported as t4 or csv");
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
  if (arguments.format != "db") {
    export_samples(store, devices, arguments, problem);
    return kDone;
  }
  store.export_to(arguments.target, devices);
  fmt::print("{}: data of {}\n", arguments.target, devices_text(devices.size()));
  return kDone;
}

/// The device of results that name none: the only one of this machine that --device selects.
DeviceProfile measured_device(const Globals& globals) {
  std::vector<DeviceProfile> devices = selected_devices(globals);
  if (devices.size() != 1)
    fail(ErrorCode::kInvalidArgument,
         "its results do not name their device, and this machine has {}{}; name the one that they "
         "are from with --device",
         devices.size(), globals.matching());
  return std::move(devices.front());
}

/// A database, T4, or results that the page of `rooftile web` exported.
class Importer {
 public:
  /// Throws kInvalidArgument for a problem of the options that is none.
  explicit Importer(const Globals& globals, const ProblemOptions& problem)
      : defaults_{.problem = named_problem(problem),
                  .device = [&globals] { return measured_device(globals); }} {}

  ImportReport add(Store& store, const std::string& file) const {
    if (is_t4_file(file)) return add_t4(store, file);
    if (!web::is_results_file(file)) return store.import_from(file);
    return web::import_results(store, web::read_results(file));
  }

 private:
  ImportReport add_t4(Store& store, const std::string& file) const {
    const T4Results results = read_t4(file, defaults_);
    const T4Import import = import_t4(store, results);
    if (import.own) fmt::print("{}: exported by this database, which has all of it\n", file);
    if (results.never_run + import.illegal > 0)
      fmt::print(
          "{}: left out {} of {}: {} of kernels that were not made there, {} of kernels that the "
          "device cannot run\n",
          file, results.never_run + import.illegal,
          count_text(results.never_run + results.results.size(), "result"), results.never_run,
          import.illegal);
    return import.added;
  }

  T4Defaults defaults_;
};

std::string added_text(const ImportReport& added, std::string_view before_last) {
  return fmt::format("{}, {}, {}{}{}", count_text(added.devices, "device"),
                     count_text(added.runs, "run"), count_text(added.samples, "sample"),
                     before_last, count_text(added.winners, "ranked kernel"));
}

/// Imports all files; a refused file does not stop the others. Releases the name of a new database
/// once it holds something. Returns the number of refused files.
std::size_t import_files(Store& store, const Importer& importer,
                         const std::vector<std::string>& files, TemporaryName& fresh) {
  if (!store.note().empty()) fmt::print(stderr, "rooftile: {}\n", store.note());
  std::size_t refused = 0;
  ImportReport all;
  for (const std::string& file : files) {
    try {
      const ImportReport added = importer.add(store, file);
      fresh.release();
      all.devices += added.devices;
      all.calibrations += added.calibrations;
      all.runs += added.runs;
      all.samples += added.samples;
      all.winners += added.winners;
      fmt::print("{}: {}, {} of portfolios{}\n", file, added_text(added, ", "),
                 count_text(added.portfolio, "kernel"),
                 brought_anything(added) ? "" : ": nothing new");
    } catch (const Error& error) {
      ++refused;
      fmt::print(stderr, "rooftile: {}\n", error.what());
    }
  }
  if (refused < files.size())
    fmt::print("{}: {} added from {} of {}\n", store.path().string(), added_text(all, " and "),
               files.size() - refused, count_text(files.size(), "file"));
  return refused;
}

/// Same as import_files(), into a database that may be new. A new one into which nothing was
/// imported is removed again. named: same as in StoreOptions.
std::size_t import_into(const std::filesystem::path& database, std::string_view named,
                        const Importer& importer, const std::vector<std::string>& files) {
  TemporaryName fresh;
  if (std::error_code unknown; !database_exists(database, named))
    fresh.take(std::filesystem::weakly_canonical(database, unknown).string());
  Store store(database, {.named = named});
  return import_files(store, importer, files, fresh);
}

int merge(const Globals& globals, const ExchangeArguments& arguments) {
  const Importer importer(globals, {});
  return import_into(arguments.target, "", importer, arguments.files) == 0 ? kDone : kFailure;
}

/// Also certifies data of earlier imports, whose certification the user may have interrupted.
int import_data(const Globals& globals, const ExchangeArguments& arguments) {
  TuneOptions options{.problems = {}, .budget_s = parse_budget_s(arguments.budget)};
  const Importer importer(globals, arguments.problem);
  const std::size_t refused =
      import_into(globals.database(), kNamedByDefault, importer, arguments.files);
  const int imported = refused == 0 ? kDone : kFailure;
  if (refused == arguments.files.size()) return imported;
  if (arguments.certify) {
    Store store(globals.database());
    const int certified = refresh_devices(store, selected_devices(globals), options);
    return certified != kDone ? certified : imported;
  }
  fmt::print(
      "no imported kernel is used before it is certified here: `rooftile tune --refresh` does that "
      "in seconds where the product and the driver are the same\n");
  return imported;
}

constexpr std::array kProblemOptions = {"--m",       "--n",     "--k",    "--trans-a",
                                        "--trans-b", "--batch", "--type", "--epilogue"};

void add_problem(CLI::App& command, ProblemOptions& problem, const std::string& group) {
  problem.add_to(command, false);
  for (const char* option : kProblemOptions) command.get_option(option)->group(group);
}

}  // namespace

void add_exchange(CLI::App& db, const Globals& globals, Action& action) {
  static ExchangeArguments arguments;
  CLI::App* exporting =
      db.add_subcommand("export", "Write tuned data to one file, for other machines");
  add_file(*exporting, "file", arguments.target, "The file to write, whole or not at all")
      ->required();
  exporting->add_flag("--force", arguments.force, "Replace the file if it exists");
  CLI::Option* const format =
      exporting
          ->add_option("--format", arguments.format,
                       "db: for `rooftile db import`, with everything (default); t4: the samples "
                       "as JSON for Kernel Tuner's tools; csv: the samples as a table")
          ->type_name("FORMAT")
          ->check(one_of({"db", "t4", "csv"}));
  add_problem(*exporting, arguments.problem, "Only the samples of this problem");
  for (const char* option : kProblemOptions) exporting->get_option(option)->needs(format);
  exporting->footer(
      "The data of all devices, or of those that --device matches: parameters and\n"
      "times, never code. docs/sharing.md lists what is not exported, and what T4 and\n"
      "CSV hold.\n"
      "Examples:\n  rooftile db export tuned.db\n"
      "  rooftile db export --format csv samples.csv --device RTX\n"
      "  rooftile db export --format t4 one.json --m 512 --n 512 --k 512");
  exporting->callback([&] { action = [&] { return export_data(globals, arguments); }; });

  CLI::App* importing = db.add_subcommand("import", "Add other machines' data to the database");
  importing
      ->add_option("files", arguments.files,
                   "Files from `rooftile db export`, T4 of another tuner of Rooftile's kernels, or "
                   "JSON from the page of `rooftile web`")
      ->type_name("FILE")
      ->required();
  importing->add_flag(
      "--certify", arguments.certify,
      "Then certify and time on this machine the kernels for its products and drivers, in seconds, "
      "so that programs use them; `rooftile tune --refresh` does the same later");
  add_budget(*importing, arguments.budget,
             "Wall time of --certify for a device, calibration included: 60s, 3m (default 5m)")
      ->needs("--certify");
  add_problem(*importing, arguments.problem,
              "The problem of T4 results that name none, as those of other tuners");
  importing->footer(
      "Imported kernels are used only after they are certified on this machine. Data of\n"
      "another product or driver only gives the search its starting points. Importing a\n"
      "file again adds only what is new.\n"
      "Examples:\n  rooftile db import tuned.db --certify\n"
      "  rooftile db import kernel_tuner.json --m 512 --n 512 --k 512 --certify");
  importing->callback([&] { action = [&] { return import_data(globals, arguments); }; });

  CLI::App* merging = db.add_subcommand(
      "merge", "Add exported files to a database file, which is created if it does not exist");
  add_file(*merging, "out", arguments.target, "The database file that gets all data")->required();
  merging->add_option("files", arguments.files, "Files from `rooftile db export`")
      ->type_name("FILE")
      ->required();
  merging->footer("Example: rooftile db merge all.db tuned1.db tuned2.db");
  merging->callback([&] { action = [&] { return merge(globals, arguments); }; });
}

}  // namespace rooftile
