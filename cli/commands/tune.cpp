#include "tuner/tune.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress_bar.h"
#include "cli/refresh.h"
#include "cli/terminal.h"
#include "cli/tune_json.h"
#include "cli/usage.h"
#include "core/error.h"
#include "core/quantized.h"
#include "core/text_table.h"
#include "runtime/device/device.h"
#include "tuner/problems/logged_problems.h"
#include "tuner/search/strategy_choice.h"

namespace rooftile {
namespace {

constexpr double kQuickS = 60, kDefaultS = 300, kThoroughS = 1800;

struct TuneArguments {
  std::string budget, set = "default", shapes, strategy = "auto";
  ProblemOptions sizes;
  std::uint64_t seed = 1;
  std::size_t candidates = 0;
  bool quick = false, thorough = false, recalibrate = false, atomics = false, refresh = false,
       from_log = false, no_counters = false, json = false;
};

/// Throws kInvalidArgument for problems that no call can have.
void check_wanted(const Problem& p) {
  validate(p);
  if (p.types.f16_sums && !may_sum_in_f16(p.types))
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
  std::vector<TuneProblem> problems =
      arguments.shapes.empty() ? problem_set(arguments.set) : read_problem_csv(arguments.shapes);
  for (TuneProblem& wanted : problems) {
    // Fields of the file hold unless an option overrides them.
    if (arguments.sizes.type != ProblemOptions().type)
      wanted.problem = retyped(wanted.problem, parse_types(arguments.sizes.type));
    if (!arguments.sizes.epilogue.empty())
      wanted.problem.epilogue = parse_epilogue(arguments.sizes.epilogue);
    check_wanted(wanted.problem);
  }
  return problems;
}

std::string ratio_text(double other_ns, double ns) {
  return other_ns > 0 && ns > 0 ? fmt::format("{:.2f}x", other_ns / ns) : "-";
}

/// contention_note() explains the mark.
std::string host_text(const HostComparison& host) {
  return host.ratio > 0 ? fmt::format("{:.2f}x{}", host.ratio, host.contended ? "*" : "") : "-";
}

/// Explains the mark of contended comparisons with the host; empty when there are none.
std::string contention_note(const std::vector<TuneResult>& results) {
  const auto contended =
      std::ranges::count_if(results, [](const TuneResult& r) { return r.host.contended; });
  if (contended == 0) return "";
  return fmt::format(
      "* other programs used the processors during {} of the comparisons with the host, so that "
      "the ratio is unreliable; `rooftile explain` and `rooftile report` predict it\n",
      contended);
}

/// Prints each problem as soon as it is tuned: in one line or, on a terminal where that does not
/// fit, in two and the winner below them. The winner is the last column, because its name may have
/// any length, which is unknown when the first line is printed.
class ResultTable {
 public:
  explicit ResultTable(const std::vector<TuneProblem>& problems) {
    for (const TuneProblem& wanted : problems)
      problem_width_ = std::max(problem_width_, display_width(to_string(wanted.problem)));
    constexpr std::size_t kFigures = 76, kWinner = 60;  // of the columns after the problem
    const std::size_t terminal = terminal_columns(STDOUT_FILENO);
    folded_ = terminal > 0 && terminal < problem_width_ + kFigures + kWinner;
  }

  /// Prints the header directly before the first result, after the lines of a calibration.
  void print(const TuneResult& r) {
    if (!std::exchange(has_header_, true))
      row("problem",
          {"GFLOP/s", "% roof", "vs default", "certain", "tried", "vs naive", "vs host", "packing"},
          "winner");
    const double total_ns = r.kernel_ns + r.pack_ns;
    if (r.winner.empty()) {
      print_lines(fmt::format("{} no certified kernel yet ({} measured, {} rejected, {} spilled)\n",
                              padded(to_string(r.problem), problem_width_, Align::kLeft),
                              r.measured, r.rejected, r.spilled));
      return;
    }
    row(to_string(r.problem),
        {fmt::format("{:.1f}", flops(r.problem) / r.kernel_ns),
         fmt::format("{:.0f}%", 100 * r.bound_ns / r.kernel_ns), ratio_text(r.default_ns, total_ns),
         certainty_text(r.verdict, r.confidence), fmt::to_string(r.tried),
         ratio_text(r.naive_ns, total_ns), host_text(r.host),
         r.pack_ns > 0 ? time_text(r.pack_ns) : "-"},
        r.winner);
  }

 private:
  static constexpr std::array<std::size_t, 8> kWidths = {8, 7, 10, 8, 5, 9, 9, 9};

  void row(std::string_view problem, const std::array<std::string, 8>& figures,
           std::string_view winner) const {
    constexpr std::size_t kFirst = 5;  // figures of the first line
    std::string line = padded(problem, problem_width_, Align::kLeft);
    for (std::size_t i = 0; i < figures.size(); ++i) {
      if (folded_ && i == kFirst) line += "\n  ";
      line += " " + padded(figures[i], kWidths[i], Align::kRight);
    }
    fmt::print("{}{}{}\n", line, folded_ ? "\n    " : "  ", winner);
  }

  std::size_t problem_width_ = std::size("problem") - 1;
  bool folded_ = false, has_header_ = false;
};

/// Disturbances of the measurements; drift and temperature only where they matter.
std::string noise_text(const TuneReport& report) {
  std::string text = fmt::format("{} samples resampled, {} flagged noisy", report.noise.retaken,
                                 report.noise.noisy);
  if (const auto slowdown = report.noise.slowdown)
    text += fmt::format("; the device {} by {:.0f} % over the run{}",
                        *slowdown > 1 ? "slowed" : "sped up", 100 * std::abs(*slowdown - 1),
                        *slowdown > 1 ? " (thermal?)" : "");
  if (report.conditions.highest_c)
    text += fmt::format("; {:.0f} C at most", *report.conditions.highest_c);
  if (report.conditions.throttle_events.value_or(0) > 0)
    text += fmt::format("; throttled {} times", *report.conditions.throttle_events);
  return text;
}

/// How far the run exceeded its budget; empty where it hardly did.
std::string overrun_text(double elapsed_s, double budget_s) {
  constexpr double kLeastToldS = 0.5;
  const double over_s = elapsed_s - budget_s;
  if (over_s < kLeastToldS) return "";
  return fmt::format(" ({:.0f} s of them after the budget, to finish what was running)", over_s);
}

/// Problems that got no time; empty where there are none.
std::string missing_text(const std::vector<TuneProblem>& wanted,
                         const std::vector<TuneResult>& results) {
  std::vector<std::string> missing;
  for (const TuneProblem& one : wanted)
    if (std::ranges::find(results, one.problem, &TuneResult::problem) == results.end())
      missing.push_back(to_string(one.problem));
  return missing.empty() ? "" : fmt::format("not begun: {}\n", fmt::join(missing, ", "));
}

/// Says which winners the run could not compare with their default; empty: it compared all.
std::string open_text(const std::vector<TuneResult>& results) {
  const auto open = std::ranges::count_if(results, [](const TuneResult& r) {
    return !r.winner.empty() && r.verdict == OutcomeVerdict::kOpen;
  });
  if (open == 0) return "";
  return fmt::format(
      "open: {} of the winners could not be compared with the default to the end; the next run "
      "begins with them\n",
      open);
}

/// Expected cost for problems that were not tuned.
std::string untuned_text(const TuneReport& report) {
  const Regret& regret = report.untuned;
  if (regret.problems == 0 && report.hardly_searched > 0)
    return fmt::format("not estimated: {} of {} problems have fewer than {} candidates",
                       report.hardly_searched, report.results.size(), kLeastForRegret);
  if (regret.problems == 0)
    return "fewer than two problems or two kernels were compared: no regret can be estimated";
  if (!regret.has_median())
    return fmt::format("{} problems were compared; an estimate of the regret takes {}",
                       regret.problems, kLeastForMedian);
  return fmt::format(
      "median regret {:.1f} % (95 % interval {:.1f} to {:.1f} %){}, over {} problems",
      100 * regret.median, 100 * regret.median_low, 100 * regret.median_high,
      regret.has_decile() ? fmt::format(", worst decile {:.0f} %", 100 * regret.worst_decile) : "",
      regret.problems);
}

/// Problems of the log, as many as the budget allows.
std::vector<TuneProblem> hottest(const Store& store, const DeviceProfile& device, double budget_s) {
  const std::optional<RowId> row = store.find_device(device);
  std::vector<TuneProblem> problems =
      row ? logged_problems(store, *row) : std::vector<TuneProblem>();
  problems.resize(std::min(problems.size(), problems_within(budget_s)));
  return problems;
}

std::ptrdiff_t tuned_problems(const TuneReport& report) {
  return std::ranges::count_if(report.results,
                               [](const TuneResult& result) { return !result.winner.empty(); });
}

/// Tunes one device, with a line for each problem as soon as it is tuned; quiet: with nothing on
/// the standard output.
TuneReport tune_device(Store& store, const DeviceProfile& device, const TuneOptions& options,
                       bool quiet, const std::atomic<bool>& stop) {
  if (!quiet)
    print_lines(fmt::format("tuning {} ({}), {} problems, {:.0f} s\n", device.name,
                            device.driver_info, options.problems.size(), options.budget_s));
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
  return report;
}

/// The lines below the table of one device.
void print_end(const Store& store, const DeviceProfile& device, const TuneOptions& options,
               bool from_log, const TuneReport& report) {
  std::size_t spilled = 0;
  for (const TuneResult& result : report.results) spilled += result.spilled;
  print_lines(fmt::format(
      "{} of {} problems in {:.0f} s{}{}{}{}\n", tuned_problems(report), options.problems.size(),
      report.elapsed_s, overrun_text(report.elapsed_s, options.budget_s),
      spilled > 0 ? fmt::format(", {} spilled", spilled) : "",
      report.failed > 0 ? fmt::format(", {} candidates failed, {:.1f} s lost to them",
                                      report.failed, report.lost_s)
                        : "",
      report.interrupted     ? "; interrupted: the next run continues from here"
      : report.out_of_budget ? "; out of budget: the next run continues from here"
                             : ""));
  print_lines(fmt::format("{}{}{}noise: {}\n", missing_text(options.problems, report.results),
                          open_text(report.results), contention_note(report.results),
                          noise_text(report)));
  if (from_log) {
    const std::optional<RowId> row = store.find_device(device);
    print_lines(
        fmt::format("{} logged problems remain\n", row ? logged_problems(store, *row).size() : 0));
  }
  const bool any_single = std::ranges::any_of(
      report.results, [](const TuneResult& result) { return !is_grouped(result.problem); });
  if (!report.interrupted && any_single)
    print_lines(fmt::format("untuned problems: {}\n", untuned_text(report)));
}

int tune_all(const Globals& globals, const TuneArguments& arguments) {
  TuneOptions options;
  options.refresh_only = arguments.refresh;
  if (!arguments.refresh && !arguments.from_log) options.problems = problems_of(arguments);
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
  if (arguments.refresh) return refresh_devices(store, devices, options);
  const std::atomic<bool>& stop = stop_on_signals();
  bool interrupted = false, impossible = false;  // impossible: no problem can be tuned.
  nlohmann::ordered_json documents = nlohmann::ordered_json::array();
  for (const DeviceProfile& device : devices) {
    if (arguments.from_log) options.problems = hottest(store, device, options.budget_s);
    const TuneReport report = tune_device(store, device, options, arguments.json, stop);
    const auto tuned = tuned_problems(report);
    impossible |= tuned == 0 && !report.interrupted && !report.out_of_budget;
    if (arguments.json)
      documents.push_back(tune_json(device, options.problems, options.budget_s, report));
    else
      print_end(store, device, options, arguments.from_log, report);
    interrupted = report.interrupted;
    if (interrupted) break;
  }
  if (arguments.json)
    print_json({{"database", store.path().string()}, {"devices", std::move(documents)}});
  else
    print_lines(fmt::format(
        "stored in {}; see `rooftile report`, `rooftile explain --m 1024 --n 1024 --k 1024`\n",
        store.path().string()));
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
  command
      ->add_option("--budget", arguments.budget,
                   "Wall time for a device, compilation included: 60s, 3m, 1h (default 5m); the "
                   "first calibration of a device, about 15 s, is not counted")
      ->type_name("TIME")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.empty() ? std::string("the time is empty; it is one like 60s, 3m or 1h")
                                : std::string();
          },
          ""));
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
                    "(VK_KHR_performance_query); docs/counters.md");
  command->add_flag("--refresh", arguments.refresh,
                    "Only certify and time again the kernels that a new driver or a new version of "
                    "Rooftile made stale, and imported kernels for this device and driver; every "
                    "run of `tune` begins with that");
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
