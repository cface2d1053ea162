// What deciding by prediction costs: the time of the chosen tier over the best tier's, on random
// problems that neither calibration nor tuner has seen. Once as programs get it, who make each
// product some times, and so have it measured; once for calls that are made for the first time; and
// once with the host held to one thread, so that a device that shares the host's cores is worth
// choosing at all.
// Whole calls on host pointers, tiers in turn. How near the processors were to each other is
// measured beside each problem: where a hypervisor moves them apart, all threads are another tier
// than the one that was calibrated.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/random.h"
#include "core/statistics.h"
#include "core/time_text.h"
#include "runtime/context.h"
#include "runtime/model/calibration.h"
#include "runtime/model/portfolio.h"
#include "runtime/plain_call.h"
#include "tuner/processor_handover.h"
#include "tuner/random_operand.h"

namespace rooftile {
namespace {

constexpr double kSampleNs = 50e3;  // calls are repeated up to this: the clock costs some 50 ns
constexpr double kLongestNs = 3e9;  // a tier that is predicted to take longer is left out
constexpr double kMostFlops = 8e9;

struct Options {
  std::string database, csv;
  int problems = 60, rounds = 9;
  std::int64_t smallest = 1, largest = 2000;
  std::uint64_t seed = 1;
};

struct Operands {
  std::vector<char> a, b, c;
};

/// One tier on one problem.
struct Contestant {
  Context* context;
  Tier tier;
  TierChoice choice;
  int calls = 1;  // in a sample
  std::vector<double> sample_ns = {};

  double ns() const { return median(sample_ns); }
  /// Of every second sample, from the first or from the second one on.
  double half_ns(std::size_t first) const {
    std::vector<double> half;
    for (std::size_t i = first; i < sample_ns.size(); i += 2) half.push_back(sample_ns[i]);
    return median(std::move(half));
  }
};

GemmCall call_of(const Problem& p, const Operands& operands,
                 TierChoice choice = TierChoice::kAuto) {
  return {.problem = p,
          .a = operands.a.data(),
          .b = operands.b.data(),
          .c = const_cast<char*>(operands.c.data()),
          .tier = choice};
}

double call_ns(const Contestant& contestant, const Problem& p, const Operands& operands,
               int calls) {
  const double start = now_ns();
  for (int call = 0; call < calls; ++call)
    contestant.context->gemm(call_of(p, operands, contestant.choice));
  return (now_ns() - start) / calls;
}

/// A tier's time over that of the best of contestants. Which is the best one half of the samples
/// say and the other half how long it takes, in turns: the shortest of several noisy medians is
/// shorter than any tier is.
double regret_of(Tier tier, const std::vector<const Contestant*>& contestants) {
  const Contestant* const chosen = *std::ranges::find(contestants, tier, &Contestant::tier);
  double regret = 0;
  for (const std::size_t half : {0, 1}) {
    const Contestant* const best = *std::ranges::min_element(
        contestants, {}, [&](const Contestant* contestant) { return contestant->half_ns(half); });
    regret += (chosen->half_ns(1 - half) / best->half_ns(1 - half) - 1) / 2;
  }
  return regret;
}

/// Where calls of one product went that were left to the context.
class AutoCalls {
 public:
  explicit AutoCalls(Context& context) : context_(context) {}
  void make(const Problem& p, const Operands& operands, int calls) {
    const GemmCall call = call_of(p, operands);
    const PlainCall again = {.product = plain_product(p).value(),
                             .a = static_cast<const float*>(call.a),
                             .b = static_cast<const float*>(call.b),
                             .c = static_cast<float*>(call.c)};
    for (int i = 0; i < calls; ++i) {
      if (!context_.gemm_again(again)) context_.gemm(call);
      const Tier tier = context_.last_answer().value().tier;
      if (calls_.empty()) first_ = tier;
      ++calls_[tier];
    }
  }
  Tier first() const { return first_; }
  int calls() const {
    int sum = 0;
    for (const auto& [tier, calls] : calls_) sum += calls;
    return sum;
  }
  /// Of a call, on average.
  double regret(const std::vector<const Contestant*>& contestants) const {
    double sum = 0;
    for (const auto& [tier, calls] : calls_) sum += calls * regret_of(tier, contestants);
    return sum / calls();
  }

 private:
  Context& context_;
  Tier first_ = Tier::kHost;
  std::map<Tier, int> calls_;
};

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
    std::ofstream csv;
    if (!options_.csv.empty()) {
      csv.open(options_.csv);
      csv << "m,n,k,trans_a,trans_b,device_ns,host_ns,host1_ns,predicted_device_ns,"
             "predicted_host_ns,predicted_host1_ns,chosen,score,first_regret,calls,regret,"
             "one_thread_chosen,one_thread_score,one_thread_regret,handover_ns\n";
    }
    fmt::print("{}, {} problems, {} rounds\n", usual_.device_name(), options_.problems,
               options_.rounds);
    for (int i = 0; i < options_.problems; ++i) measure(next_problem(), csv);
    print("auto", usual_regrets_, usual_devices_);
    print("auto, first calls", first_regrets_, usual_devices_);
    print("host on one thread", one_thread_regrets_, one_thread_devices_);
    print_by_handover();
    if (csv.is_open() && !csv.flush())
      fail(ErrorCode::kIo, "cannot write {}; is the disk full?", options_.csv);
  }

 private:
  std::int64_t random_size() {
    const double from = std::log(static_cast<double>(options_.smallest)),
                 to = std::log(static_cast<double>(options_.largest));
    return std::llround(std::exp(from + random_.unit() * (to - from)));
  }

  /// Nowhere measured, by the device's kernels or by the host's calibration.
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

  void measure(const Problem& p, std::ofstream& csv) {
    const Operands operands = {
        .a = random_operand(DataType::kF32, span_a(p), random_),
        .b = random_operand(DataType::kF32, span_b(p), random_),
        .c = std::vector<char>(static_cast<std::size_t>(span_c(p)) * sizeof(float))};
    std::vector<Contestant> all = {
        {.context = &usual_, .tier = Tier::kHost, .choice = TierChoice::kHost},
        {.context = &usual_, .tier = Tier::kHost1, .choice = TierChoice::kHost1}};
    const Explanation usual = usual_.explain({.problem = p}),
                      fixed = one_thread_.explain({.problem = p});
    if (usual.decision.device_ns < kLongestNs)
      all.push_back({.context = &usual_, .tier = Tier::kDevice, .choice = TierChoice::kDevice});
    if (usual.kernel != fixed.kernel && fixed.decision.device_ns < kLongestNs)
      all.push_back(
          {.context = &one_thread_, .tier = Tier::kDevice, .choice = TierChoice::kDevice});
    for (Contestant& contestant : all) {
      call_ns(contestant, p, operands, 1);  // compiles
      const double once = call_ns(contestant, p, operands, 1);
      contestant.calls = std::max(1, static_cast<int>(kSampleNs / once));
    }
    const std::optional<double> handover = processor_handover_ns();
    handovers_.push_back(handover.value_or(0));
    const auto take_turns = [&](int rounds) {
      for (int round = 0; round < rounds; ++round)
        for (Contestant& contestant : all) {
          // The first call after another tier's pays for that one's habits.
          call_ns(contestant, p, operands, contestant.calls);
          contestant.sample_ns.push_back(call_ns(contestant, p, operands, contestant.calls));
        }
    };
    AutoCalls left_to_it(usual_);
    const Contestant& begins_with = *std::ranges::find(all, usual.decision.tier, &Contestant::tier);
    const int before = options_.rounds / 2;
    take_turns(before);
    // As many as of the others, in a row as programs make them.
    call_ns(begins_with, p, operands, begins_with.calls);
    left_to_it.make(p, operands, 2 * options_.rounds * begins_with.calls);
    take_turns(options_.rounds - before);
    std::vector<const Contestant*> of_usual, of_one_thread;
    for (const Contestant& contestant : all) {
      if (contestant.context == &usual_) of_usual.push_back(&contestant);
      if (contestant.tier == Tier::kHost1 || contestant.context == &one_thread_ ||
          (contestant.tier == Tier::kDevice && usual.kernel == fixed.kernel))
        of_one_thread.push_back(&contestant);
    }
    const Decision& alone = fixed.decision;
    const Tier alone_tier = alone.tier == Tier::kHost ? Tier::kHost1 : alone.tier;
    record(p, all, usual.decision,
           {.first = regret_of(left_to_it.first(), of_usual),
            .calls = left_to_it.calls(),
            .mean = left_to_it.regret(of_usual)},
           alone, regret_of(alone_tier, of_one_thread), csv);
  }

  /// Of the calls that were left to the context.
  struct AutoRegret {
    double first;
    int calls;
    double mean;
  };

  void record(const Problem& p, const std::vector<Contestant>& all, const Decision& usual,
              const AutoRegret& regret, const Decision& alone, double alone_regret,
              std::ofstream& csv) {
    usual_regrets_.push_back(regret.mean);
    first_regrets_.push_back(regret.first);
    one_thread_regrets_.push_back(alone_regret);
    usual_devices_ += usual.tier == Tier::kDevice ? 1 : 0;
    one_thread_devices_ += alone.tier == Tier::kDevice ? 1 : 0;
    const auto time_of = [&](Tier tier) {
      const auto found = std::ranges::find(all, tier, &Contestant::tier);
      return found == all.end() ? std::string() : fmt::format("{:.0f}", found->ns());
    };
    const std::string device = time_of(Tier::kDevice);
    fmt::print(
        "{:<20} device {:>12}  host {:>12}  host1 {:>12}  {:<6} {:+6.1f} %, {} calls {:+6.1f} %  "
        "alone {:<6} {:+6.1f} %\n",
        to_string(p), device.empty() ? "-" : time_text(std::stod(device)),
        time_text(std::stod(time_of(Tier::kHost))), time_text(std::stod(time_of(Tier::kHost1))),
        name(usual.tier), 100 * regret.first, regret.calls, 100 * regret.mean, name(alone.tier),
        100 * alone_regret);
    std::fflush(stdout);
    if (csv.is_open())
      csv << fmt::format(
          "{},{},{},{},{},{},{},{},{:.0f},{:.0f},{:.0f},{},{:.4g},{:.4f},{},{:.4f},{},{:.4g},{:.4f}"
          ",{:.0f}\n",
          p.m, p.n, p.k, letter(p.trans_a), letter(p.trans_b), device, time_of(Tier::kHost),
          time_of(Tier::kHost1), usual.device_ns, usual.host_ns, usual.host1_ns, name(usual.tier),
          usual.score, regret.first, regret.calls, regret.mean, name(alone.tier), alone.score,
          alone_regret, handovers_.back());
  }

  static void print(const char* what, const std::vector<double>& regrets, int devices) {
    const Regret regret = summarize_regret(regrets);
    fmt::print(
        "{}: chosen over best tier: mean {:.3f}, worst decile {:.3f}, worst {:.3f}; device "
        "chosen for {} of {} problems\n",
        what, 1 + regret.mean, 1 + regret.worst_decile, 1 + regret.worst, devices, regret.problems);
  }

  /// Of auto: where processors were apart, beside where they were near.
  void print_by_handover() const {
    constexpr double kApart = 2;  // times the shortest handover of the run
    const auto [least, most] = std::ranges::minmax(handovers_);
    if (most == 0) return;
    std::vector<double> near, apart;
    for (std::size_t i = 0; i < handovers_.size(); ++i)
      (handovers_[i] > kApart * least ? apart : near).push_back(usual_regrets_[i]);
    fmt::print("a cache line to another processor and back: {:.0f} to {:.0f} ns\n", least, most);
    if (apart.empty()) return;
    fmt::print("auto, below {:.0f} ns: mean {:.3f} of {} problems; above: mean {:.3f} of {}\n",
               kApart * least, 1 + summarize_regret(near).mean, near.size(),
               1 + summarize_regret(apart).mean, apart.size());
  }

  Options options_;
  Random random_;
  Context usual_, one_thread_;
  std::vector<double> usual_regrets_, first_regrets_, one_thread_regrets_;
  std::vector<double> handovers_;  // 0: could not be measured
  int usual_devices_ = 0, one_thread_devices_ = 0;
};

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  CLI::App app(
      "Time of the chosen tier over the best tier's, on problems that calibration never saw: on\n"
      "average over the calls of a problem that are left to the context, the first one included.\n"
      "Example: bench_dispatch --problems 100 --csv dispatch.csv");
  rooftile::Options options;
  app.add_option("--db", options.database, "Tuning database (default: the user's)");
  app.add_option("--problems", options.problems, "Random problems (60)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--rounds", options.rounds, "Samples of each tier on each problem (9)")
      ->check(CLI::Range(1, 1001));
  app.add_option("--smallest", options.smallest, "m, n and k are log-uniform from this (1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
  app.add_option("--largest", options.largest, "... to this (2000)")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{100'000}));
  app.add_option("--seed", options.seed, "Of the problems (1)");
  app.add_option("--csv", options.csv, "A line for each problem");
  CLI11_PARSE(app, argc, argv);
  if (options.smallest > options.largest) {
    fmt::print(stderr, "bench_dispatch: --smallest {} is above --largest {}\n", options.smallest,
               options.largest);
    return 2;
  }
  try {
    rooftile::Bench(options).run();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_dispatch: {}\n", error.what());
    return 1;
  }
}
