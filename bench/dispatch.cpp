// Measures the cost of choosing a tier by prediction: the time of the chosen tier over that of the
// best tier, on random problems that neither calibration nor tuner has seen. There are four
// contests.
// - Repeated calls, as in programs, where online tier selection measures the tiers.
// - First calls.
// - The host restricted to one thread, so that a device that shares the host's cores can win, with
//   operands in host memory.
// - The same with operands in device memory.
// Times are whole calls, tiers in turn. Core-to-core latency and processor slowdown are measured
// beside each problem, because a hypervisor that moves or delays virtual processors changes the
// tiers' times after calibration.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/contests/auto_calls.h"
#include "bench/contests/dispatch_contest.h"
#include "bench/contests/dispatch_results.h"
#include "bench/contests/program.h"
#include "bench/contests/resident_contest.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "runtime/dispatch/context.h"
#include "runtime/model/calibration.h"
#include "runtime/model/portfolio.h"
#include "runtime/verify/random_operand.h"

namespace rooftile::dispatch_bench {
namespace {

constexpr double kLongestNs = 3e9;  // A tier with a longer predicted time is skipped.
constexpr double kMostFlops = 8e9;
// Time for which OpenBLAS's threads spin before they sleep: 2^26 cycles.
constexpr std::chrono::milliseconds kThreadsFallAsleep(50);

struct Options {
  std::string database, csv;
  int problems = 60, rounds = 9;
  std::int64_t smallest = 1, largest = 2000;
  std::optional<Problem> only;
  std::uint64_t seed = 1;
};

Contestant contestant(Context& context, Tier tier, const GemmCall& call) {
  return {.context = &context, .tier = tier, .call = [&context, call] { context.gemm(call); }};
}

std::optional<double> ns_of(const std::vector<const Contestant*>& contestants, Tier tier) {
  const Contestant* const found = find_tier(contestants, tier);
  return found == nullptr ? std::nullopt : std::optional(found->ns());
}

/// The tier that runs when every host tier computes on one thread.
Tier on_one_thread(Tier tier) { return tier == Tier::kHost ? Tier::kHost1 : tier; }

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        random_(options.seed),
        usual_({.database = options.database,
                .log_untuned = LogUntuned::kNo,
                .deterministic = Deterministic::kNo}),
        one_thread_({.database = options.database,
                     .log_untuned = LogUntuned::kNo,
                     .deterministic = Deterministic::kYes}) {
    if (const DispatchModel& model = usual_.model();
        usual_.device_name().empty() || !is_calibrated(model.device()))
      fail(ErrorCode::kDatabase, "no tuned and calibrated device{}{}; run `rooftile tune`",
           usual_.note().empty() ? "" : ": ", usual_.note());
  }

  void run() {
    // Fails early if the file cannot be written, and keeps what is known when the program is ended.
    const auto write = [&] {
      if (!options_.csv.empty()) results_.write(options_.csv);
    };
    write();
    fmt::print("{}, {} problems, {} rounds\n", usual_.device_name(), options_.problems,
               options_.rounds);
    for (int i = 0; i < options_.problems; ++i) {
      results_.add(measure(options_.only ? *options_.only : next_problem()));
      write();
    }
    results_.print();
  }

 private:
  std::int64_t random_size() {
    const double from = std::log(static_cast<double>(options_.smallest)),
                 to = std::log(static_cast<double>(options_.largest));
    return std::llround(std::exp(from + random_.unit() * (to - from)));
  }

  /// Problems that neither the device's kernels nor the host's calibration have measured.
  Problem next_problem() {
    while (true) {
      const auto transpose = [&] {
        return random_.below(2) == 0 ? Transpose::kNo : Transpose::kYes;
      };
      const Problem p =
          packed_problem(random_size(), random_size(), random_size(), transpose(), transpose());
      const std::vector<Problem> calibrated = host_calibration_problems();
      const bool seen = usual_.explain({.problem = p}).measured_kernel_ns.has_value() ||
                        std::ranges::any_of(calibrated, [&](const Problem& other) {
                          return size_distance(p, other) == 0;
                        });
      if (!seen && flops(p) <= kMostFlops) return p;
    }
  }

  DispatchResult measure(const Problem& p) {
    const ProductOperands operands = {
        .a = random_operand(DataType::kF32, span_a(p), random_),
        .b = random_operand(DataType::kF32, span_b(p), random_),
        .c = std::vector<char>(static_cast<std::size_t>(span_c(p)) * sizeof(float))};
    DispatchResult result{.problem = p};
    on_host_pointers(operands, result);
    on_resident_operands(operands, result);
    return result;
  }

  void on_host_pointers(const ProductOperands& operands, DispatchResult& result) {
    const Problem& p = result.problem;
    const Explanation usual = usual_.explain({.problem = p}),
                      alone = one_thread_.explain({.problem = p});
    result.usual = usual.decision;
    result.alone = alone.decision;
    std::vector<Contestant> all = {
        contestant(usual_, Tier::kHost, call_of(p, operands, TierChoice::kHost)),
        contestant(usual_, Tier::kHost1, call_of(p, operands, TierChoice::kHost1))};
    const GemmCall on_device = call_of(p, operands, TierChoice::kDevice);
    const bool same_kernel = usual.kernel == alone.kernel;
    if (usual.decision.device_ns < kLongestNs)
      all.push_back(contestant(usual_, Tier::kDevice, on_device));
    if (!same_kernel && alone.decision.device_ns < kLongestNs)
      all.push_back(contestant(one_thread_, Tier::kDevice, on_device));
    std::vector<const Contestant*> of_usual, of_one_thread;
    for (const Contestant& one : all) {
      if (one.context == &usual_) of_usual.push_back(&one);
      if (one.tier == Tier::kHost1 || one.context == &one_thread_ ||
          (one.tier == Tier::kDevice && same_kernel))
        of_one_thread.push_back(&one);
    }
    warm_up(all);
    AutoCalls left_to_it(usual_);
    const Contestant& begins_with = *find_tier(of_usual, usual.decision.tier);
    const int before = options_.rounds / 2;
    take_turns(all, before);
    // As many calls as the other contestants make, in a row as in programs.
    for (int call = 0; call < begins_with.calls; ++call) begins_with.call();
    left_to_it.make(p, operands, 2 * options_.rounds * begins_with.calls);
    take_turns(all, options_.rounds - before);
    result.device_ns = ns_of(of_usual, Tier::kDevice);
    result.host_ns = ns_of(of_usual, Tier::kHost);
    result.host1_ns = ns_of(of_usual, Tier::kHost1);
    result.first_regret = regret_of(left_to_it.first(), of_usual);
    result.calls = left_to_it.calls();
    result.regret = left_to_it.regret(of_usual);
    result.alone_regret = regret_of(on_one_thread(alone.decision.tier), of_one_thread);
  }

  /// These samples run in turns of their own: right after GEMMs on all threads, neither the device
  /// nor a copy would have the processors to itself.
  void on_resident_operands(const ProductOperands& operands, DispatchResult& result) {
    result.resident = one_thread_.decide(
        result.problem,
        {.a = Residency::kDevice, .b = Residency::kDevice, .c = Residency::kDevice});
    std::vector<Contestant> all = resident_contestants(
        one_thread_, result.problem, operands,
        result.resident.device_ns < kLongestNs ? DeviceTakesPart::kYes : DeviceTakesPart::kNo);
    std::vector<const Contestant*> of_them;
    for (const Contestant& one : all) of_them.push_back(&one);
    std::this_thread::sleep_for(kThreadsFallAsleep);
    warm_up(all);
    take_turns(all, options_.rounds);
    result.resident_device_ns = ns_of(of_them, Tier::kDevice);
    result.resident_host1_ns = ns_of(of_them, Tier::kHost1);
    result.resident_regret = regret_of(on_one_thread(result.resident.tier), of_them);
  }

  Options options_;
  Random random_;
  Context usual_, one_thread_;
  DispatchResults results_;
};

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Time of the chosen tier over the best tier's, on problems that calibration never saw: on\n"
      "average over the calls of a problem that are left to the context, the first one included;\n"
      "of first calls; with the host on one thread; and the same with operands in the device's\n"
      "memory, which the host has to fetch.\n"
      "Example: rooftile-bench dispatch --problems 100 --csv dispatch.csv");
  Options options;
  WantedProblems wanted;
  app.add_option("--db", options.database, "Tuning database (default: the user's)");
  app.add_option("--problems", options.problems,
                 "Random problems, or how often the one problem (60)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--rounds", options.rounds, "Samples of each tier on each problem (9)")
      ->check(CLI::Range(2, 1001));
  CLI::Option* const smallest =
      app.add_option("--smallest", options.smallest, "m, n and k are log-uniform from this (1)")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
  CLI::Option* const largest = app.add_option("--largest", options.largest, "... to this (2000)")
                                   ->check(CLI::Range(std::int64_t{2}, std::int64_t{100'000}));
  wanted.add_sizes(app, "One problem, which the calibration may have measured")
      ->excludes(smallest, largest);
  app.add_option("--seed", options.seed, "Of the problems and operands (1)");
  app.add_option("--csv", options.csv, "A line for each problem");
  app.parse(argc, argv);
  if (options.smallest > options.largest)
    throw CLI::ValidationError(
        "--smallest", fmt::format("{} is above --largest {}", options.smallest, options.largest));
  options.only = wanted.one();
  Bench(options).run();
}

}  // namespace rooftile::dispatch_bench
