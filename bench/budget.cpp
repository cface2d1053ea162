// Measures what a tuning run loses by ending early: for every problem that two databases of this
// machine have tuned, both winners run in turns, with packing counted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "bench/contests/kernel_turn.h"
#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "db/store.h"
#include "generator/version.h"
#include "runtime/device/device.h"

namespace rooftile::budget_bench {
namespace {

constexpr int kFewestTurns = 7, kMostTurns = 101;
constexpr int kPlacements = 5;
constexpr double kRotateBytes = 128e6;  // exceeds the last-level cache

struct Setting {
  std::string shorter, longer, csv;
  double seconds = 3;  // Sampling time for one problem.
};

/// The first kernel of each ranked list, by problem.
std::map<std::string, TunedKernel> winners(const std::string& path, const DeviceProfile& device) {
  const Store store(path, OpenMode::kReadOnly);
  const auto row = store.find_device(device);
  if (!row) fail(ErrorCode::kDatabase, "{} is not tuned in {}", device.name, path);
  std::map<std::string, TunedKernel> found;
  for (TunedKernel& kernel : store.tuned_kernels(*row, kGeneratorVersion))
    if (kernel.rank == 0) found.emplace(to_string(kernel.problem), std::move(kernel));
  return found;
}

double time_ns(Measurer& measurer, const TunedKernel& kernel) {
  return ns_of(one_turn(measurer, kernel.candidate.variant, kernel.problem, kRotateBytes));
}

/// Time of the longer run's winner over that of the shorter run's winner: 1 when the shorter run
/// loses nothing. The order of the two alternates from turn to turn.
std::vector<double> shares(Measurer& measurer, const TunedKernel& shorter,
                           const TunedKernel& longer, double seconds) {
  const std::array<const TunedKernel*, 2> kernels = {&shorter, &longer};
  for (const TunedKernel* kernel : kernels) time_ns(measurer, *kernel);
  std::vector<double> sample;
  const double end = now_ns() + seconds * 1e9;
  for (int turn = 0; turn < kMostTurns && (turn < kFewestTurns || now_ns() < end); ++turn) {
    std::array<double, 2> ns = {};
    for (int i = 0; i < 2; ++i) {
      const auto which = static_cast<std::size_t>((turn + i) % 2);
      ns[which] = time_ns(measurer, *kernels[which]);
    }
    sample.push_back(ns[1] / ns[0]);
  }
  return sample;
}

void run(const Setting& setting) {
  const DeviceProfile profile = wanted_devices().front();
  const auto shorter = winners(setting.shorter, profile), longer = winners(setting.longer, profile);
  CsvFile csv(setting.csv, "problem,shorter,longer,share,mad,turns");
  fmt::print("device: {} ({})\n", profile.name, profile.driver_info);
  std::vector<double> medians;
  for (const auto& [problem, kernel] : longer) {
    const auto other = shorter.find(problem);
    if (other == shorter.end()) continue;
    const Variant &before = other->second.candidate.variant, &after = kernel.candidate.variant;
    Summary share = {.median_ns = 1};
    if (before != after) {
      // Only one problem's kernels and operands exist at a time. They are allocated several times,
      // because a kernel's time changes by up to a fifth with the addresses of its operands.
      std::vector<double> all;
      for (int placement = 0; placement < kPlacements; ++placement) {
        Measurer measurer(Device::open(profile));
        std::ranges::copy(shares(measurer, other->second, kernel, setting.seconds / kPlacements),
                          std::back_inserter(all));
      }
      share = summarize(all);
    }
    medians.push_back(share.median_ns);
    fmt::print("{:<24} {:>6.1f} % +- {:>4.1f}  {:<36} {}\n", problem, 100 * share.median_ns,
               100 * share.mad_ns, short_name(before),
               before == after ? "the same" : short_name(after));
    std::fflush(stdout);
    csv.add(fmt::format("{},{},{},{:.4f},{:.4f},{}", problem, short_name(before), short_name(after),
                        share.median_ns, share.mad_ns, share.count));
  }
  if (medians.empty()) fail(ErrorCode::kDatabase, "the two databases have no problem in common");
  fmt::print(
      "share of the longer run's speed: geometric mean {:.1f} %, lowest {:.1f} % ({} problems)\n",
      100 * geometric_mean(medians), 100 * std::ranges::min(medians), medians.size());
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "The winners of a short run and of a long one are timed in alternating rounds.\n"
      "Example: rooftile-bench budget 3m.db 30m.db");
  Setting setting;
  app.add_option("shorter", setting.shorter, "Tuning database of the short run")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("longer", setting.longer, "Tuning database of the long run")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--seconds", setting.seconds, "Seconds of measurement for one problem (3)")
      ->check(CLI::PositiveNumber);
  app.add_option("--csv", setting.csv, "Write the table here as well");
  app.parse(argc, argv);
  run(setting);
}

}  // namespace rooftile::budget_bench
