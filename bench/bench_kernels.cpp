// Times kernels beside each other on one device: the questions of files
// (bench/contests/experiment.h), or the kernels of one problem beside the first of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "bench/contests/experiment.h"
#include "bench/contests/kernel_turn.h"
#include "core/clock.h"
#include "core/compiler_facts.h"
#include "core/error.h"
#include "db/store.h"
#include "generator/priors/untuned_kernel.h"
#include "generator/rules.h"
#include "runtime/device/device.h"
#include "runtime/kernel/staging.h"

namespace rooftile {
namespace {

constexpr double kRotatedBytes = 128e6;
constexpr std::size_t kFewestRatios = 6, kMostRatios = 101;  // six: median_interval()
constexpr std::chrono::seconds kLongestCompilation(60);

struct Setting {
  std::vector<std::string> files;
  std::string check, csv;
  /// Threads that compile. Empty: all processors but one; on a software device, whose kernels would
  /// share them, none.
  std::optional<unsigned> jobs;
  double seconds = 0;  ///< Of each experiment instead of its own; 0: its own.
};

std::optional<std::string> why_illegal(const Variant& v, const DeviceLimits& limits,
                                       const Problem& staged) {
  return illegal_reason(v, limits, staged, own_buffers(staged));
}

/// Says which kernel of an experiment is illegal, and why.
std::optional<std::string> why_illegal(const Experiment& one, const DeviceLimits& limits) {
  for (const Variant* variant : {&one.baseline, &one.variant})
    if (const auto why = why_illegal(*variant, limits, staged_problem(one.problem)))
      return fmt::format("{} is illegal here: {}", short_name(*variant), *why);
  return std::nullopt;
}

/// Kernels that threads compile while others are timed, in the order in which they are wanted.
class Compilers {
 public:
  struct Compiled {
    std::unique_ptr<Kernel> kernel;
    double ns;
  };
  Compilers(std::shared_ptr<Device> device, const std::vector<Experiment>& experiments,
            unsigned jobs)
      : work_(std::make_shared<Work>()) {
    for (const Experiment& one : experiments)
      for (const Variant* variant : {&one.baseline, &one.variant})
        add(device, *variant, one.problem);
    for (unsigned i = 0; i < jobs; ++i)
      // A driver may never return: nothing waits for these threads.
      std::thread([work = work_] {
        for (std::size_t at; (at = work->next++) < work->tasks.size();) work->tasks[at]();
      }).detach();
  }

  /// Gives the measurer the kernel that it will need, unless it has it. Throws the kernel's error.
  void provide(Measurer& measurer, const Variant& variant, const Problem& staged) {
    const auto found = kernels_.find(key(variant, staged));
    if (found == kernels_.end()) return;
    std::future<Compiled> compiled = std::move(found->second);
    kernels_.erase(found);
    if (compiled.wait_for(kLongestCompilation) != std::future_status::ready)
      fail(ErrorCode::kCompile, "does not compile within {} s", kLongestCompilation.count());
    Compiled done = compiled.get();
    measurer.adopt(std::move(done.kernel), signature_of(staged), done.ns);
  }

 private:
  struct Work {
    std::vector<std::packaged_task<Compiled()>> tasks;
    std::atomic<std::size_t> next = 0;
  };
  static std::string key(const Variant& variant, const Problem& staged) {
    return to_string(variant) + " " + to_string(signature_of(staged));
  }
  void add(const std::shared_ptr<Device>& device, const Variant& variant, const Problem& p) {
    const Problem staged = staged_problem(p);
    if (kernels_.contains(key(variant, staged)) ||
        why_illegal(variant, device->profile().limits, staged))
      return;
    work_->tasks.emplace_back([device, variant, signature = signature_of(staged)] {
      const double start = now_ns();
      auto kernel = std::make_unique<Kernel>(device, variant, signature, ShaderCache({}));
      return Compiled{std::move(kernel), now_ns() - start};
    });
    kernels_.emplace(key(variant, staged), work_->tasks.back().get_future());
  }

  std::shared_ptr<Work> work_;
  std::map<std::string, std::future<Compiled>> kernels_;
};

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
    if (jobs > 0) compilers_ = std::make_unique<Compilers>(device_, experiments, jobs);
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
  explicit Table(const std::string& csv) {
    if (csv.empty()) return;
    file_.open(csv);
    if (!file_) fail(ErrorCode::kIo, "cannot write {}", csv);
    file_ << "experiment,problem,baseline,variant,expected,ratio,ratio_low,ratio_high,rounds,"
             "baseline_ns,variant_ns,verdict,baseline_facts,variant_facts,failure\n";
  }

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
    std::string failure = outcome.failure;
    std::ranges::replace(failure, '"', '\'');
    if (file_.is_open() &&
        !(file_ << fmt::format("{},{},{},{},{:g},{}\"{}\",\"{}\",\"{}\"\n", one.name, problem,
                               to_string(one.baseline), to_string(one.variant), one.expected,
                               figures, outcome.baseline_facts, outcome.variant_facts, failure)
                << std::flush))
      fail(ErrorCode::kIo, "cannot write all of the table");
  }

 private:
  std::ofstream file_;
};

/// Says for each device of a database which experiments it could run.
int check(const std::string& database, const std::vector<Experiment>& experiments) {
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
  return 0;
}

/// The kernels of one problem, each beside the first.
struct OneProblem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::string type = "f32";
  bool trans_a = false, trans_b = false;
  std::vector<std::string> kernels;
  std::size_t priors = 0;

  std::vector<Experiment> experiments(const DeviceProfile& device) const {
    const auto transpose = [](bool yes) { return yes ? Transpose::kYes : Transpose::kNo; };
    const Problem p =
        packed_problem(m, n, k, transpose(trans_a), transpose(trans_b), batch, parse_types(type));
    std::vector<Variant> all;
    for (const std::string& text : kernels) all.push_back(parse_variant(text));
    const Problem staged = staged_problem(p);
    const auto known = untuned_kernels(device, device.limits, staged, own_buffers(staged));
    for (std::size_t i = 0; i < std::min(priors, known.size()); ++i)
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
};

int run(const Setting& setting, const OneProblem& one) {
  std::vector<Experiment> experiments;
  for (const std::string& file : setting.files) {
    std::ranges::move(read_experiments(file), std::back_inserter(experiments));
    std::error_code ignored;
    if (std::filesystem::equivalent(file, setting.csv, ignored))
      fail(ErrorCode::kInvalidArgument, "--csv names {}, which holds the questions", file);
  }
  if (!setting.check.empty()) return check(setting.check, experiments);
  const Enumeration found = enumerate_devices();
  if (found.devices.empty()) fail(ErrorCode::kDevice, "no Vulkan device: {}", found.note);
  const DeviceProfile& device = found.devices.front();
  if (one.m > 0) std::ranges::move(one.experiments(device), std::back_inserter(experiments));
  fmt::print(
      "{} ({}): time of each second kernel over that of the first, taken in turns, packing "
      "included; medians with 95 % intervals\n",
      device.name, device.driver_info);
  const unsigned others = std::max(2u, std::thread::hardware_concurrency()) - 1;
  Runner runner(device, experiments,
                setting.jobs.value_or(device.kind == DeviceKind::kSoftware ? 0 : others));
  Table table(setting.csv);
  std::string hypothesis;
  for (const Experiment& next : experiments) {
    if (next.hypothesis != hypothesis) fmt::print("{}\n", hypothesis = next.hypothesis);
    table.add(next, runner.run(next, setting.seconds > 0 ? setting.seconds : next.seconds));
  }
  return 0;
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  using namespace rooftile;
  CLI::App app(
      "Times kernels beside each other on the first Vulkan device\n"
      "Example: bench_kernels bench/experiments/matrix.csv --csv answers.csv\n"
      "         bench_kernels --m 512 --n 512 --k 512 --priors 5");
  Setting setting;
  OneProblem one;
  CLI::Option* files =
      app.add_option("FILE", setting.files, "Experiments (bench/experiments/README.md)");
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
  CLI::Option* m = app.add_option("--m", one.m, "One problem")->check(CLI::PositiveNumber);
  CLI::Option* n = app.add_option("--n", one.n)->check(CLI::PositiveNumber)->needs(m);
  CLI::Option* k = app.add_option("--k", one.k)->check(CLI::PositiveNumber)->needs(m);
  m->needs(n, k);
  app.add_option("--batch", one.batch)->check(CLI::PositiveNumber)->needs(m);
  app.add_option("--type", one.type, "Types, as of `rooftile tune`")->needs(m);
  app.add_flag("--trans-a", one.trans_a)->needs(m);
  app.add_flag("--trans-b", one.trans_b)->needs(m);
  app.add_option("--kernel", one.kernels, "Parameters of a kernel; several times")->needs(m);
  app.add_option("--priors", one.priors, "So many of the kernels that are tried without tuning")
      ->needs(m);
  CLI11_PARSE(app, argc, argv);
  int code = 1;
  try {
    if (setting.files.empty() && one.m == 0)
      fail(ErrorCode::kInvalidArgument, "name a file of experiments or a problem (see --help)");
    code = run(setting, one);
  } catch (const Error& error) {
    fmt::print(stderr, "bench_kernels: {}\n", error.what());
  }
  std::fflush(nullptr);
  std::_Exit(code);  // Threads may be in a driver's compiler for ever.
}
