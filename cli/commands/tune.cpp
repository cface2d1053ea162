#include "tuner/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/budget.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress_bar.h"
#include "cli/refresh.h"
#include "cli/shipped.h"
#include "cli/terminal.h"
#include "cli/tune_json.h"
#include "cli/tune_text.h"
#include "cli/usage.h"
#include "core/count_text.h"
#include "core/error.h"
#include "core/quantized.h"
#include "generator/unit_operands.h"
#include "report/problem.h"
#include "runtime/device/device.h"
#include "tuner/problems/logged_problems.h"
#include "tuner/search/strategies.h"
#include "tuner/stored/imported_lists.h"

namespace rooftile {
namespace {

constexpr double kQuickS = 60, kDefaultS = 300, kThoroughS = 1800;

struct TuneArguments {
  std::string budget, set = "default", shapes, strategy = "auto";
  ProblemOptions sizes;
  std::uint64_t seed = 1;
  std::size_t candidates = 0;
  bool quick = false, thorough = false, recalibrate = false, atomics = false, refresh = false,
       from_log = false, no_counters = false, no_shipped = false, json = false;
};

/// Throws kInvalidArgument for problems that no call can have.
void check_wanted(const Problem& p) {
  validate(p);
  if (p.types.sums == Sums::kF16 && !may_sum_in_f16(p.types))
    fail(ErrorCode::kInvalidArgument,
         "{} has a quantised B, whose sums are always float32: remove _sum_f16",
         to_string(p.types));
}

std::vector<TuneProblem> problems_of(const TuneArguments& arguments) {
  if (arguments.sizes.m > 0 || arguments.sizes.n > 0 || arguments.sizes.k > 0) {
    if (arguments.sizes.m < 1 || arguments.sizes.n < 1 || arguments.sizes.k < 1)
      fail(ErrorCode::kInvalidArgument, "--m, --n and --k go together");
    const Problem p = arguments.sizes.problem();
    check_wanted(p);
    return {{p, ""}};
  }
  if (arguments.sizes.trans_a || arguments.sizes.trans_b || arguments.sizes.batch != 1 ||
      arguments.sizes.groups > 0)
    fail(ErrorCode::kInvalidArgument,
         "--trans-a, --trans-b, --batch and --groups need --m, --n and --k");
  std::vector<TuneProblem> problems;  // each once: an option may make some equal
  for (TuneProblem& wanted :
       arguments.shapes.empty() ? problem_set(arguments.set) : read_problem_csv(arguments.shapes)) {
    // Fields of the file hold unless an option overrides them.
    if (arguments.sizes.type != ProblemOptions().type)
      wanted.problem = retyped(wanted.problem, parse_types(arguments.sizes.type));
    if (!arguments.sizes.epilogue.empty())
      wanted.problem.epilogue = parse_epilogue(arguments.sizes.epilogue);
    check_wanted(wanted.problem);
    if (std::ranges::find(problems, wanted.problem, &TuneProblem::problem) == problems.end())
      problems.push_back(std::move(wanted));
  }
  return problems;
}

/// The problems with which a device is tuned: where it has no kernels that round operands, without
/// the permission to do so, each once.
std::vector<TuneProblem> for_device(const std::vector<TuneProblem>& wanted,
                                    const DeviceProfile& device) {
  std::vector<TuneProblem> problems;
  bool changed = false;
  for (TuneProblem problem : wanted) {
    const Types types = types_on(device.limits, problem.problem.types);
    changed = changed || types != problem.problem.types;
    problem.problem.types = types;
    if (std::ranges::find(problems, problem.problem, &TuneProblem::problem) == problems.end())
      problems.push_back(std::move(problem));
  }
  if (changed)
    fmt::print(stderr,
               "rooftile: types are tuned without _half (it needs matrix units for bfloat16) and "
               "without _int8 (packed dot products) as far as {} has none (`rooftile devices`)\n",
               device.name);
  return problems;
}

/// Problems of the log, as many as the budget allows.
std::vector<TuneProblem> hottest(const Store& store, const DeviceProfile& device, double budget_s) {
  const std::optional<RowId> row = store.find_device(device);
  std::vector<TuneProblem> problems =
      row ? logged_problems(store, *row) : std::vector<TuneProblem>();
  problems.resize(std::min(problems.size(), problems_within(budget_s)));
  return problems;
}

std::size_t remaining(const Store& store, const DeviceProfile& device) {
  const std::optional<RowId> row = store.find_device(device);
  return row ? logged_problems(store, *row).size() : 0;
}

/// ", `rooftile explain --m 96 ...`", which shows where calls of this problem run.
std::string explain_hint(const Problem& p) {
  if (is_grouped(p) || p.batch > 1) return "";
  return fmt::format(", `rooftile explain {}`", options_of(p));
}

/// Tunes one device, with a line for each problem as soon as it is tuned; quiet: with nothing on
/// the standard output.
TuneReport tune_device(Store& store, const DeviceProfile& device, const TuneOptions& options,
                       bool quiet, const std::atomic<bool>& stop) {
  if (!quiet)
    print_lines(fmt::format("tuning {} ({}), {}, {:.0f} s\n", device.name, device.driver_info,
                            count_text(options.problems.size(), "problem"), options.budget_s));
  std::fflush(stdout);
  ProgressBar bar;
  ResultTable table(options.problems);
  TuneCallbacks callbacks = tune_callbacks(bar);
  callbacks.problem_finished = [&](const TuneResult& result) {
    bar.clear();
    table.print(result);
    std::fflush(stdout);
  };
  if (quiet) {
    callbacks.calibrated = [](const CalibrationRun&) {};
    callbacks.refreshed = [](const RefreshReport&) {};
    callbacks.imported = [](const ImportedReport&) {};
    callbacks.problem_finished = [](const TuneResult&) {};
  }
  TuneReport report = tune(store, device, options, callbacks, stop);
  bar.clear();
  if (quiet) return report;
  const ImportedWork left = imported_work(store, device, store.device_id(device));
  if (!left.empty())
    print_lines(fmt::format(
        "{} and {} of other machines are not certified yet: `rooftile tune --refresh` "
        "does that\n",
        count_text(left.lists.size(), "problem"), count_text(left.portfolios.size(), "portfolio")));
  return report;
}

/// Imports what was measured elsewhere on devices of this product.
void begin_with_shipped(Store& store, const DeviceProfile& device, bool quiet) {
  const std::vector<ShippedDevice> imported =
      import_shipped(store, shipped_devices(shipped_folder(), device));
  if (!imported.empty() && !quiet)
    print_lines(fmt::format("beginning with {}\n", shipped_text(imported)));
}

int tune_all(const Globals& globals, const TuneArguments& arguments) {
  TuneOptions options;
  options.refresh_only = arguments.refresh;
  std::vector<TuneProblem> wanted;
  if (!arguments.refresh && !arguments.from_log) wanted = problems_of(arguments);
  options.strategy = arguments.strategy;
  options.seed = arguments.seed;
  options.candidates = arguments.candidates;
  options.recalibrate = arguments.recalibrate;
  options.atomics = arguments.atomics;
  options.counters = !arguments.no_counters;
  options.budget_s = !arguments.budget.empty() ? parse_budget_s(arguments.budget)
                     : arguments.quick         ? kQuickS
                     : arguments.thorough      ? kThoroughS
                                               : kDefaultS;
  std::vector<DeviceProfile> devices = selected_devices(globals);
  Store store(globals.database());
  if (!store.note().empty()) fmt::print(stderr, "rooftile: {}\n", store.note());
  if (arguments.from_log) {
    std::erase_if(devices, [&](const DeviceProfile& device) {
      return hottest(store, device, options.budget_s).empty();
    });
    if (devices.empty())
      fail(ErrorCode::kUnsupported,
           "no untuned problem is logged in {}; programs log their calls without a tuned kernel, "
           "unless ROOFTILE_LOG_UNTUNED is off",
           store.path().string());
  }
  print_host_advice();
  if (!arguments.no_shipped)
    for (const DeviceProfile& device : devices) begin_with_shipped(store, device, arguments.json);
  if (arguments.refresh) return refresh_devices(store, devices, options);
  const std::atomic<bool>& stop = stop_on_signals();
  bool interrupted = false, impossible = false;  // impossible: no problem can be tuned.
  nlohmann::ordered_json documents = nlohmann::ordered_json::array();
  for (const DeviceProfile& device : devices) {
    options.problems =
        for_device(arguments.from_log ? hottest(store, device, options.budget_s) : wanted, device);
    const TuneReport report = tune_device(store, device, options, arguments.json, stop);
    const auto tuned = tuned_problems(report);
    impossible |= tuned == 0 && !report.interrupted && !report.out_of_budget;
    if (arguments.json)
      documents.push_back(tune_json(device, options.problems, options.budget_s, report));
    else
      print_end(options, report);
    if (!arguments.json && arguments.from_log)
      print_lines(count_text(remaining(store, device), "logged problem") + " left\n");
    interrupted = report.interrupted;
    if (interrupted) break;
  }
  if (arguments.json)
    print_json({{"database", store.path().string()}, {"devices", std::move(documents)}});
  else
    print_lines(
        fmt::format("stored in {}; see `rooftile report`{}\n", store.path().string(),
                    options.problems.empty() ? "" : explain_hint(options.problems.back().problem)));
  return interrupted ? kInterrupted : impossible ? kFailure : kDone;
}

}  // namespace

void add_tune(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command =
      app.add_subcommand("tune", "Calibrate and tune this machine's Vulkan devices");
  command->footer(
      "Examples:\n  rooftile tune\n  rooftile tune --budget 3m --set squares\n"
      "  rooftile tune --m 4096 --n 1 --k 4096 --trans-b\n"
      "  rooftile tune --groups 64 --m 4096 --n 1024 --k 2048   # a mixture of experts\n"
      "  rooftile tune --from-log --quick\n"
      "  rooftile tune --refresh      # after a driver update or an import: in seconds");
  static TuneArguments arguments;
  add_budget(*command, arguments.budget,
             "Wall time for a device, compilation included: 60s, 3m, 1h (default 5m); the "
             "first calibration of a device, about 15 s, is not counted");
  command->add_flag("--quick", arguments.quick, "The same as --budget 1m");
  command->add_flag("--thorough", arguments.thorough, "The same as --budget 30m");
  command->add_option("--set", arguments.set, "Built-in problems (default default)")
      ->type_name("NAME")
      ->check(one_of(problem_set_names()));
  add_file(*command, "--shapes", arguments.shapes,
           "Problems of a CSV file with the columns m,n,k,trans_a,trans_b,batch,note, or with "
           "type,epilogue or type,epilogue,groups,skew before the note");
  command->add_flag("--from-log", arguments.from_log,
                    "Tune the problems that programs called without a tuned kernel, hottest first, "
                    "as many as the budget allows");
  command
      ->add_option("--strategy", arguments.strategy,
                   "How candidates are chosen (default auto); docs/search.md")
      ->type_name("NAME")
      ->check(one_of(strategy_names()));
  command->add_option("--seed", arguments.seed, "Seed of the strategy's random choices (default 1)")
      ->type_name("N")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  command
      ->add_option("--candidates", arguments.candidates,
                   "Number of candidates to search of each problem's space, the same ones in every "
                   "run (default: all)")
      ->type_name("N")
      ->check(whole_number(1, std::int64_t{1} << 40));
  command->add_flag(
      "--atomics", arguments.atomics,
      "Search kernels that add atomically, too: the last bits of their results differ "
      "from call to call");
  command->add_flag("--no-counters", arguments.no_counters,
                    "Do not read the driver's hardware counters of the best kernels "
                    "(VK_KHR_performance_query); docs/inspect.md");
  command->add_flag("--no-shipped", arguments.no_shipped,
                    "Do not begin with what was measured elsewhere on devices of the same product "
                    "and comes with Rooftile; `rooftile devices` shows it");
  command->add_flag("--refresh", arguments.refresh,
                    "Only certify and time again the kernels that a new driver or a new version of "
                    "Rooftile made stale, and imported kernels for this product and driver; other "
                    "runs begin with the imported ones for their own problems");
  command->add_flag(
      "--recalibrate", arguments.recalibrate,
      "Calibrate again, outside the budget, and show which measurements have drifted");
  add_json(*command, arguments.json)->excludes("--refresh");
  arguments.sizes.add_to(*command, false);
  arguments.sizes.add_groups_to(*command);
  for (const char* other : {"--set", "--shapes", "--m", "--n", "--k", "--trans-a", "--trans-b",
                            "--batch", "--type", "--epilogue", "--groups"}) {
    command->get_option("--from-log")->excludes(other);
    command->get_option("--refresh")->excludes(other);
  }
  command->get_option("--set")->excludes("--shapes")->excludes("--m");
  command->get_option("--shapes")->excludes("--m");
  command->get_option("--quick")->excludes("--thorough")->excludes("--budget");
  command->get_option("--thorough")->excludes("--budget");
  command->callback([&] { action = [&] { return tune_all(globals, arguments); }; });
}

}  // namespace rooftile
