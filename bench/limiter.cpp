// Does the limiter that a report names limit the kernel (docs/report.md)? Of kernels drawn from the
// whole legal space, one thing at a time is doubled (limiter/changes.h); what moves the time most
// limits it. The share of a change is what it adds to the time, as far as nothing overlaps.
//
// Kernel and changes take turns, with operands that rotate past the caches, beside a control that
// differs only in the variable that the changes use. On a software device samples above 2 ms count
// processor time. Every kernel, changed or not, is compared with float64.
//
// What it cannot show: a change doubles a little more than its one thing (a repeated load also
// needs an operation and a register, gaps also halve what caches hold). Shares do not add up to 1,
// because address arithmetic, the loop, conversions and llvmpipe's coroutines are not doubled by
// any change. Left out are atomic sums, which cannot be computed twice, long kernels (--work),
// epilogues, groups, GGUF blocks and float16 sums; no matrix units or GPU have been measured.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "bench/contests/program.h"
#include "bench/limiter/trial.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "db/store.h"
#include "generator/compiler_work.h"
#include "generator/space.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "tuner/calibrate/calibrate.h"

namespace rooftile::limiter_bench {
namespace {

constexpr double kMostFlops = 2e8;
constexpr double kLeastRotatedBytes = 128e6;  // As the tuner rotates operands past the caches.

struct Setting {
  std::string csv, calibration, kernel;
  std::size_t kernels = 100, first = 0;
  std::uint64_t seed = 1;
  int rounds = 9;
  double most_work = 3000;
};

struct Case {
  Variant variant;
  Problem problem;
};

/// Draws kernels and problems: all families alike, types and sizes of five kinds.
class Cases {
 public:
  Cases(const DeviceLimits& limits, const Setting& setting)
      : limits_(limits), most_work_(setting.most_work), random_(setting.seed) {
    for (const Variant& v : legal_variants(limits)) families_[v.family].push_back(v);
  }

  Case next() {
    auto family = families_.begin();
    std::advance(family, static_cast<std::ptrdiff_t>(random_.below(families_.size())));
    while (true) {
      const Case drawn = {family->second[random_.below(family->second.size())],
                          staged_problem(problem())};
      // Sums that kernels add to what is there cannot be computed twice.
      if (drawn.variant.reduction == Reduction::kAtomic && drawn.variant.split_k > 1) continue;
      if (!illegal_reason(drawn.variant, limits_, drawn.problem, own_buffers(drawn.problem)) &&
          compiler_work(drawn.variant, signature_of(drawn.problem)) <= most_work_)
        return drawn;
    }
  }

 private:
  std::int64_t size(double low, double high) {
    return std::llround(low * std::pow(high / low, random_.unit()));
  }

  Problem problem() {
    static const std::vector<std::string> kTypes = {"f32",  "f32", "f32",       "f16",
                                                    "bf16", "i8",  "f32xq4b32", "f32xq8b16"};
    const Types types = parse_types(kTypes[random_.below(kTypes.size())]);
    const auto transpose = [&] { return random_.below(2) == 0 ? Transpose::kNo : Transpose::kYes; };
    while (true) {
      std::int64_t m = size(64, 512), n = size(64, 512), k = size(64, 512), batch = 1;
      switch (random_.below(5)) {
        case 0:
          m = size(1, 8), n = size(256, 4096), k = size(256, 4096);
          break;
        case 1:
          m = size(256, 4096), n = size(1, 8), k = size(256, 4096);
          break;
        case 2:
          m = size(8, 64), n = size(8, 64), k = size(8, 64), batch = size(1, 64);
          break;
        case 3:
          m = size(16, 128), n = size(16, 128), k = size(1024, 8192);
          break;
        default:
          break;
      }
      const Transpose a = transpose(), b = quantized(types) ? Transpose::kYes : transpose();
      const Problem p = packed_problem(m, n, k, a, b, batch, types);
      if (flops(p) <= kMostFlops) return p;
    }
  }

  const DeviceLimits limits_;
  const double most_work_;
  Random random_;
  std::map<Family, std::vector<Variant>> families_;
};

/// The change that doubles what a limiter is about.
Change change_of(const std::string& limiter) {
  static const std::map<std::string, Change> kChangeOf = {{"math", Change::kArithmetic},
                                                          {"memory:cache", Change::kLoads},
                                                          {"memory:shared", Change::kShared},
                                                          {"barriers", Change::kBarriers},
                                                          {"broadcasts", Change::kBroadcasts},
                                                          {"stores", Change::kStores},
                                                          {"latency", Change::kLaunches},
                                                          {"sums", Change::kSums},
                                                          {"tail", Change::kIdle}};
  const auto found = kChangeOf.find(limiter);
  return found == kChangeOf.end() ? Change::kLines : found->second;  // memory:memory, :cache2, ...
}

enum class Verdict : std::uint8_t { kRight, kTied, kWrong };
std::string_view text_of(Verdict verdict) {
  return verdict == Verdict::kRight ? "right" : verdict == Verdict::kTied ? "tied" : "WRONG";
}

/// Tied: another change moves the time more, but by no more than two standard errors of the
/// difference. Of two limiters one must be right.
Verdict judge(const Limiter& limiter, const std::vector<Movement>& movements) {
  const Movement& most = movements.front();
  Verdict verdict = Verdict::kWrong;
  for (const std::string& name : {limiter.name, limiter.other}) {
    if (name.empty()) continue;
    const auto named = std::ranges::find(movements, change_of(name), &Movement::change);
    if (named == movements.begin()) return Verdict::kRight;
    if (named != movements.end() &&
        most.share - named->share <= 2 * std::hypot(most.error, named->error))
      verdict = Verdict::kTied;
  }
  return verdict;
}

void write_header(std::ostream& csv) {
  csv << "number,kernel,problem,types,ns,limiter,or_limiter,largest_bound";
  for (const Change change : kChanges)
    if (change != Change::kNone) csv << fmt::format(",{0},{0}_error,{0}_cost_ns", name_of(change));
  csv << "\n";
}

/// A line with what the kernel has nothing of left empty.
void write_csv(std::ostream& csv, std::size_t number, const Case& drawn, const LimiterTrial& trial,
               const std::vector<Movement>& movements, const Roofline& limits) {
  const Limiter named = limiter(limits);
  csv << fmt::format("{},{},{},{},{:.0f},{},{},{}", number, short_name(drawn.variant),
                     to_string(drawn.problem), to_string(drawn.problem.types), trial.ns(),
                     named.name, named.other, limits.bounds.front().limiter);
  for (const Change change : kChanges) {
    if (change == Change::kNone) continue;
    const auto moved = std::ranges::find(movements, change, &Movement::change);
    double cost_ns = 0;
    for (const Bound& cost : limits.costs)
      if (change_of(cost.limiter) == change) cost_ns += cost.ns;
    csv << (moved == movements.end()
                ? ",,,"
                : fmt::format(",{:.4f},{:.4f},{:.0f}", moved->share, moved->error, cost_ns));
  }
  csv << "\n" << std::flush;
}

struct Total {
  std::map<Verdict, int> by_limiter = {}, by_cost = {}, by_bound = {};
  int between = 0;
};

void examine(const std::shared_ptr<Device>& device, const DeviceRates& rates,
             const Setting& setting, std::size_t number, const Case& drawn, std::ostream* csv,
             Total& total) {
  LimiterTrial trial(device, drawn.variant, drawn.problem,
                     std::max(kLeastRotatedBytes, 2 * cache_bytes(rates)));
  trial.measure(setting.rounds);
  const std::vector<Movement> movements = trial.movements();
  const Roofline limits = roofline(drawn.problem, drawn.variant, rates);
  const Limiter named = limiter(limits);
  const std::string& bound = limits.bounds.front().limiter;
  const Verdict verdict = judge(named, movements), of_bound = judge({.name = bound}, movements);
  ++total.by_limiter[verdict], ++total.by_cost[judge({.name = named.name}, movements)];
  ++total.by_bound[of_bound], total.between += named.other.empty() ? 0 : 1;
  fmt::print("{:>3} {} {} {}: {:.1f} us; limiter {}{} {}; largest bound {} {}, {:.1f} x\n   ",
             number, short_name(drawn.variant), to_string(drawn.problem),
             to_string(drawn.problem.types), trial.ns() * 1e-3, named.name,
             named.other.empty() ? "" : " or " + named.other, text_of(verdict), bound,
             text_of(of_bound), trial.ns() / limits.ns());
  for (const Movement& moved : movements)
    fmt::print(" {} {:.3f} +- {:.3f}", name_of(moved.change), moved.share, moved.error);
  fmt::print(" control {:.3f}\n    model:", trial.control().share);
  for (const Bound& part : limits.costs)
    if (part.ns > 0) fmt::print(" {} {:.3f}", part.limiter, part.ns / trial.ns());
  fmt::print("\n");
  std::fflush(stdout);
  if (csv != nullptr) write_csv(*csv, number, drawn, trial, movements, limits);
}

void print_total(std::string_view rule, std::map<Verdict, int>& verdicts) {
  const int right = verdicts[Verdict::kRight], tied = verdicts[Verdict::kTied],
            all = right + tied + verdicts[Verdict::kWrong];
  fmt::print("{} of {} right by {}, of which {} within the spread of the change that moves most\n",
             right + tied, all, rule, tied);
}

/// Returns the rates that a database has for the device, or calibrates it. With wrong rates the
/// wrong limiter is named.
DeviceRates rates_of(const Setting& setting, const std::shared_ptr<Device>& device) {
  if (setting.calibration.empty()) {
    FullClocks clocks(device);
    return calibration_from_figures(calibrate_device(clocks).figures).device;
  }
  Store store(setting.calibration);
  const DeviceRates rates =
      calibration_from_figures(store.latest_calibration(store.device_id(device->profile()))).device;
  if (!is_calibrated(rates))
    fail(ErrorCode::kInvalidArgument, "{} has no calibration of {}; run rooftile calibrate",
         setting.calibration, device->profile().name);
  return rates;
}

void run(const Setting& setting, const std::vector<TuneProblem>& problems) {
  const DeviceProfile profile = wanted_devices().front();
  const auto device = Device::open(profile);
  const DeviceRates rates = rates_of(setting, device);
  fmt::print("{}; a share is what doubling adds to the time, +- its standard error\n",
             profile.name);
  std::ofstream csv;
  if (!setting.csv.empty()) {
    csv.open(setting.csv, std::ios::app);
    if (!csv) fail(ErrorCode::kIo, "cannot write {}", setting.csv);
    if (csv.tellp() == 0) write_header(csv);
  }
  std::ostream* const out = csv.is_open() ? &csv : nullptr;
  Total total;
  if (!problems.empty()) {
    for (const TuneProblem& wanted : problems)
      examine(device, rates, setting, 0,
              {parse_variant(setting.kernel), staged_problem(wanted.problem)}, out, total);
  } else {
    Cases cases(profile.limits, setting);
    for (std::size_t i = 0; i < setting.first + setting.kernels; ++i)
      if (const Case drawn = cases.next(); i >= setting.first)
        examine(device, rates, setting, i, drawn, out, total);
  }
  print_total("the limiter", total.by_limiter);
  fmt::print("{} of them named two limiters\n", total.between);
  print_total("the largest cost alone", total.by_cost);
  print_total("the largest bound", total.by_bound);
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "One thing at a time is doubled in random kernels.\nExamples:\n  rooftile-bench limiter "
      "--kernels 50 --csv limiter.csv\n"
      "  rooftile-bench limiter --kernels 50 --first 50 --csv limiter.csv\n"
      "  rooftile-bench limiter --kernel \"family=naive tile_m=8 tile_n=16\" --m 100 --n 90 --k "
      "80");
  Setting setting;
  WantedProblems wanted;
  app.add_option("--kernels", setting.kernels, "Number of kernels (100)");
  app.add_option("--first", setting.first, "Leave out so many of the seed's kernels");
  app.add_option("--seed", setting.seed, "Of kernels and problems (1)");
  CLI::Option* const kernel = app.add_option("--kernel", setting.kernel,
                                             "This kernel only, on the problems that are named");
  wanted.add_options(app);
  for (const char* problems : {"--m", "--set", "--shapes"}) app.get_option(problems)->needs(kernel);
  app.add_option("--calibration", setting.calibration,
                 "Database with the device's calibration to use instead of one of its own");
  app.add_option("--rounds", setting.rounds, "Samples of each, in turn (9)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--work", setting.most_work, "Most statements of a kernel (3000)");
  app.add_option("--csv", setting.csv, "Append a line for each kernel to this file");
  app.parse(argc, argv);
  const std::vector<TuneProblem> problems = wanted.problems();
  if (problems.empty() && *kernel)
    fail(ErrorCode::kInvalidArgument, "name the problem of the kernel by --m, --n and --k");
  run(setting, problems);
}

}  // namespace rooftile::limiter_bench
