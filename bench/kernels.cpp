// Times kernels beside each other on one device: the questions of files
// (bench/contests/experiment.h), or the kernels of one problem beside the first of them. With
// --keep it times nothing, but writes what the driver makes of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "bench/contests/compilers.h"
#include "bench/contests/experiment.h"
#include "bench/contests/kept_kernels.h"
#include "bench/contests/kernel_turn.h"
#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/compiler_facts.h"
#include "core/error.h"
#include "db/store.h"
#include "generator/priors/default_kernel.h"
#include "generator/rules.h"
#include "runtime/device/device.h"
#include "runtime/kernel/staging.h"

namespace rooftile::kernels_bench {
namespace {

constexpr double kRotatedBytes = 128e6;
constexpr std::size_t kFewestRatios = 6, kMostRatios = 101;  // six: median_interval()

struct Setting {
  std::vector<std::string> files;
  std::string check, csv, keep;
  /// Threads that compile. Empty: all processors but one; on a software device, whose kernels would
  /// share them, none.
  std::optional<unsigned> jobs;
  double seconds = 0;  ///< Of each experiment instead of its own; 0: its own.
  std::vector<std::string> kernels;
  std::size_t priors = 0;
};

/// Says which kernel of an experiment is illegal, and why.
std::optional<std::string> why_illegal(const Experiment& one, const DeviceLimits& limits) {
  for (const Variant* variant : {&one.baseline, &one.variant})
    if (const auto why = why_illegal(*variant, limits, one.problem))
      return fmt::format("{} is illegal here: {}", short_name(*variant), *why);
  return std::nullopt;
}

struct Outcome {
  std::string failure = {};
  std::vector<double> baseline_ns = {}, variant_ns = {}, ratios = {};
  std::string baseline_facts = {}, variant_facts = {};
};

/// "96 registers, 4 spilled, 16384 B shared", as far as the driver tells.
std::string facts_of(const std::vector<CompilerStatistic>& statistics) {
  const CompilerFacts facts = compiler_facts(statistics);
  std::vector<std::string> words;
  const auto add = [&](const std::optional<std::int64_t>& value, const char* unit) {
    if (value) words.push_back(fmt::format("{} {}", *value, unit));
  };
  add(facts.registers, "registers");
  add(facts.spilled_registers, "spilled");
  add(facts.scratch_bytes, "B scratch");
  add(facts.shared_bytes, "B shared");
  return fmt::format("{}", fmt::join(words, ", "));
}

class Runner {
 public:
  Runner(const DeviceProfile& profile, const std::vector<Experiment>& experiments, unsigned jobs)
      : profile_(profile) {
    open();
    if (jobs == 0) return;
    compilers_ = std::make_unique<Compilers>(device_);
    for (const Experiment& one : experiments)
      for (const Variant* variant : {&one.baseline, &one.variant})
        compilers_->add(*variant, one.problem);
    compilers_->start(jobs);
  }

  /// The variant between two turns of the baseline each, until the time is over.
  Outcome run(const Experiment& one, double seconds) {
    Outcome outcome;
    try {
      if (const auto why = why_illegal(one, profile_.limits))
        fail(ErrorCode::kUnsupported, "{}", *why);
      const Problem p = staged_problem(one.problem);
      if (compilers_ != nullptr)
        for (const Variant* variant : {&one.baseline, &one.variant})
          compilers_->provide(*measurer_, *variant, p);
      const double start = now_ns();
      const auto goes_on = [&] {
        return outcome.ratios.size() < kFewestRatios ||
               (now_ns() < start + seconds * 1e9 && outcome.ratios.size() < kMostRatios);
      };
      double before = turn(one.baseline, p, outcome.baseline_facts);
      while (goes_on()) {
        outcome.variant_ns.push_back(turn(one.variant, p, outcome.variant_facts));
        outcome.baseline_ns.push_back(turn(one.baseline, p, outcome.baseline_facts));
        outcome.ratios.push_back(2 * outcome.variant_ns.back() /
                                 (before + outcome.baseline_ns.back()));
        before = outcome.baseline_ns.back();
      }
    } catch (const Error& error) {
      outcome.failure = error.what();
      if (device_->lost()) open();
    }
    return outcome;
  }

 private:
  /// Also after the loss of a device, whose kernels are lost with it.
  void open() {
    compilers_.reset();
    measurer_.reset();
    device_ = Device::open(profile_, {.compiler_statistics = CompilerStatistics::kKeep});
    measurer_ = std::make_unique<Measurer>(device_);
  }
  double turn(const Variant& kernel, const Problem& p, std::string& facts) {
    const TimeReply reply = one_turn(*measurer_, kernel, p, kRotatedBytes);
    facts = facts_of(reply.statistics);
    return ns_of(reply);
  }

  DeviceProfile profile_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Measurer> measurer_;
  std::unique_ptr<Compilers> compilers_;
};

/// Writes each outcome as soon as it is known.
class Table {
 public:
  explicit Table(const std::string& csv)
      : file_(csv,
              "experiment,problem,baseline,variant,expected,ratio,ratio_low,ratio_high,rounds,"
              "baseline_ns,variant_ns,verdict,baseline_facts,variant_facts,failure") {}

  void add(const Experiment& one, const Outcome& outcome) {
    const std::string problem = to_string(one.problem);
    fmt::print("{}: {}\n  {} -> {}\n", one.name, problem, short_name(one.baseline),
               short_name(one.variant));
    std::string figures(7, ','), word;
    if (!outcome.failure.empty()) {
      fmt::print("  {}\n", outcome.failure);
    } else {
      const Summary ratio = summarize(outcome.ratios);
      const double from = median(outcome.baseline_ns), to = median(outcome.variant_ns);
      word = verdict(one.expected, {ratio.low_ns, ratio.high_ns});
      fmt::print("  {:.2f} -> {:.2f} us, {:.3f} of it ({:.3f} to {:.3f}, {} rounds){}: {}\n",
                 from * 1e-3, to * 1e-3, ratio.median_ns, ratio.low_ns, ratio.high_ns, ratio.count,
                 one.expected == 1 ? "" : fmt::format(", expected {:g}", one.expected), word);
      if (!outcome.baseline_facts.empty() || !outcome.variant_facts.empty())
        fmt::print("  {} -> {}\n", outcome.baseline_facts, outcome.variant_facts);
      figures = fmt::format("{:.4f},{:.4f},{:.4f},{},{:.0f},{:.0f},{},", ratio.median_ns,
                            ratio.low_ns, ratio.high_ns, ratio.count, from, to, word);
    }
    std::fflush(stdout);
    file_.add(fmt::format("{},{},{},{},{:g},{}{},{},{}", one.name, problem, to_string(one.baseline),
                          to_string(one.variant), one.expected, figures,
                          quoted(outcome.baseline_facts), quoted(outcome.variant_facts),
                          quoted(outcome.failure)));
  }

 private:
  CsvFile file_;
};

/// Says for each device of a database which experiments it could run.
void check(const std::string& database, const std::vector<Experiment>& experiments) {
  for (const DeviceRecord& device : Store(database, OpenMode::kReadOnly).devices()) {
    std::size_t legal = 0;
    for (const Experiment& one : experiments) {
      if (const auto why = why_illegal(one, device.profile.limits))
        fmt::print("{}: {}: {}\n", one.name, to_string(one.problem), *why);
      else
        ++legal;
    }
    fmt::print("{}: {} of {} are legal\n", device.profile.name, legal, experiments.size());
  }
}

/// The kernels of a problem, each beside the first.
std::vector<Experiment> kernels_of(const Problem& p, const DeviceProfile& device,
                                   const Setting& setting) {
  std::vector<Variant> all;
  for (const std::string& text : setting.kernels) all.push_back(parse_variant(text));
  const Problem staged = staged_problem(p);
  const auto known = default_kernels(device, device.limits, staged, own_buffers(staged));
  for (std::size_t i = 0; i < std::min(setting.priors, known.size()); ++i)
    if (std::ranges::find(all, known[i].variant) == all.end()) all.push_back(known[i].variant);
  if (all.size() < 2)
    fail(ErrorCode::kInvalidArgument, "name two kernels at least, by --kernel or --priors");
  std::vector<Experiment> experiments;
  for (std::size_t i = 1; i < all.size(); ++i)
    experiments.push_back({.name = fmt::format("kernel {}", i + 1),
                           .problem = p,
                           .baseline = all.front(),
                           .variant = all[i],
                           .expected = 1,
                           .seconds = 2,
                           .hypothesis = {}});
  return experiments;
}

void run(const Setting& setting, const std::vector<TuneProblem>& problems) {
  std::vector<Experiment> experiments;
  for (const std::string& file : setting.files) {
    std::ranges::move(read_experiments(file), std::back_inserter(experiments));
    std::error_code ignored;
    if (std::filesystem::equivalent(file, setting.csv, ignored))
      fail(ErrorCode::kInvalidArgument, "--csv names {}, which holds the questions", file);
  }
  if (!setting.check.empty()) return check(setting.check, experiments);
  const DeviceProfile device = wanted_devices().front();
  for (const TuneProblem& wanted : problems)
    std::ranges::move(kernels_of(wanted.problem, device, setting), std::back_inserter(experiments));
  const unsigned others = std::max(2u, std::thread::hardware_concurrency()) - 1;
  const unsigned jobs = setting.jobs.value_or(device.kind == DeviceKind::kSoftware ? 0 : others);
  if (!setting.keep.empty())
    return keep_kernels(device, experiments, setting.keep, std::max(jobs, 1u));
  fmt::print(
      "{} ({}): time of each second kernel over that of the first, taken in turns, packing "
      "included; medians with 95 % intervals\n",
      device.name, device.driver_info);
  Runner runner(device, experiments, jobs);
  Table table(setting.csv);
  std::string hypothesis;
  for (const Experiment& next : experiments) {
    if (next.hypothesis != hypothesis) fmt::print("{}\n", hypothesis = next.hypothesis);
    table.add(next, runner.run(next, setting.seconds > 0 ? setting.seconds : next.seconds));
  }
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Kernels are timed beside each other on the first Vulkan device.\n"
      "Example: rooftile-bench kernels bench/experiments/3-float32.csv --csv answers.csv\n"
      "         rooftile-bench kernels --m 512 --n 512 --k 512 --priors 5");
  Setting setting;
  WantedProblems wanted;
  CLI::Option* files =
      app.add_option("FILE", setting.files, "Experiments (bench/experiments/README.md)");
  CLI::Option* check =
      app.add_option("--check", setting.check,
                     "Only say which experiments the devices of this database could run")
          ->needs(files)
          ->check(CLI::ExistingFile);
  app.add_option("--seconds", setting.seconds, "For each experiment, instead of the file's")
      ->check(CLI::PositiveNumber);
  app.add_option(
      "--jobs", setting.jobs,
      "Threads that compile ahead (default: all processors but one; 0 on a software device)");
  app.add_option("--csv", setting.csv, "Write the answers here as well");
  app.add_option(
         "--keep", setting.keep,
         "Time nothing, but write into this folder what the driver tells of each kernel, and "
         "its pipeline cache (bench/contests/kept_kernels.h)")
      ->excludes(check)
      ->check([](const std::string& folder) {
        return folder.empty() ? "names no folder" : std::string();
      });
  wanted.add_options(app);
  app.add_option("--kernel", setting.kernels,
                 "Parameters of a kernel for the problems; several times");
  app.add_option("--priors", setting.priors,
                 "So many of the kernels that are tried without tuning");
  app.parse(argc, argv);
  const std::vector<TuneProblem> problems = wanted.problems();
  if (problems.empty() && (setting.files.empty() || !setting.kernels.empty() || setting.priors > 0))
    fail(ErrorCode::kInvalidArgument, "name {} (see --help)",
         setting.files.empty() ? "a file of experiments or a problem" : "the kernels' problem");
  run(setting, problems);
}

}  // namespace rooftile::kernels_bench
