// How much a tuning run finds in its time on a GPU that is simulated (contests/simulated_gpu.h).
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "bench/contests/program.h"
#include "bench/contests/simulated_gpu.h"
#include "core/error.h"
#include "core/files/temporary_name.h"
#include "core/numbers/statistics.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "runtime/kernel/staging.h"
#include "tuner/tune.h"

namespace rooftile::tuning_bench {
namespace {

// The database may be imported as that of another card of the same product.
constexpr const char* kOwnUuid = "00112233445566778899aabbccddeeff";

struct Setting {
  std::string database, set = "default", keep;
  std::vector<double> budgets = {5, 20};
  std::vector<std::string> imports;
  unsigned processors = 16;
};

/// The time of the fastest kernel that a search looks at.
double best_ns(const SimulatedTimes& times, const std::vector<Variant>& space, const Problem& p) {
  const Problem staged = staged_problem(p);
  double best = std::numeric_limits<double>::infinity();
  for (const Variant& v : space)
    if (!skip_reason(v, times.device(), signature_of(p)) &&
        !illegal_reason(v, times.device().limits, staged, own_buffers(staged)))
      best = std::min(best, times.ns(p, v));
  return best;
}

void run(const Setting& setting) {
  const SimulatedTimes times(setting.database);
  ::setenv("ROOFTILE_SIMULATED_GPU", setting.database.c_str(), 1);
  const std::vector<TuneProblem> problems = problem_set(setting.set);
  const std::vector<Variant> space = legal_variants(times.device().limits);
  std::vector<double> best;
  for (const TuneProblem& one : problems) best.push_back(best_ns(times, space, one.problem));
  for (const double budget_s : setting.budgets) {
    TemporaryName name;  // Stays where a signal ends the program.
    const auto pattern = std::filesystem::temp_directory_path() / "bench-tuning-XXXXXX";
    const int file = name.make_file(pattern.string());
    if (file < 0) fail(ErrorCode::kIo, "cannot make a file like {}", pattern.string());
    ::close(file);
    Store store(name.path());
    for (const std::string& other : setting.imports) store.import_from(other);
    DeviceProfile profile = times.device();
    profile.device_uuid = kOwnUuid;
    const RowId device = store.device_id(profile);
    store.add_calibration(device, times.figures());
    const std::atomic<bool> stop = false;
    const TuneReport report = tune(
        store, profile,
        {.problems = problems, .budget_s = budget_s, .processors = setting.processors}, {}, stop);
    std::size_t tried = 0, least = report.results.size() < problems.size()
                                       ? 0
                                       : std::numeric_limits<std::size_t>::max();
    std::vector<double> shares;
    for (const TuneResult& result : report.results) {
      tried += result.tried;
      least = std::min(least, result.tried);
      const auto at = static_cast<std::size_t>(
          std::ranges::find(problems, result.problem, &TuneProblem::problem) - problems.begin());
      if (result.kernel_ns > 0) shares.push_back(best[at] / (result.kernel_ns + result.pack_ns));
    }
    fmt::print("{:g} s: {} candidates, {:.1f} a second, at least {} a problem\n", budget_s, tried,
               static_cast<double>(tried) / report.elapsed_s, least);
    if (!shares.empty())
      fmt::print("  {} of {} problems have a kernel: {:.1f} % of the fastest, {:.1f} % at least\n",
                 shares.size(), problems.size(), 100 * geometric_mean(shares),
                 100 * std::ranges::min(shares));
    if (report.imported.lists > 0)
      fmt::print("  imported: {} of {} problems usable after {:.1f} s\n", report.imported.usable,
                 report.imported.lists, report.imported.usable_s);
    fmt::print("  {:.1f} s: {}\n", report.elapsed_s, activities_text(report.seconds));
    std::fflush(stdout);
    if (!setting.keep.empty()) store.export_to(setting.keep, std::vector{device});
  }
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Example: xz -dk bench/results/nvidia-h200.db.xz; rooftile-bench tuning "
      "bench/results/nvidia-h200.db");
  Setting setting;
  app.add_option("database", setting.database, "Tuning database of the GPU that is simulated")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--set", setting.set, "Problems to tune (default)")
      ->check(CLI::IsMember(problem_set_names()));
  app.add_option("--budget", setting.budgets, "Seconds of each run (5 20)")
      ->check(CLI::Range(0.001, 1e6));
  app.add_option("--import", setting.imports, "Databases of other machines to begin with")
      ->check(CLI::ExistingFile);
  app.add_option("--processors", setting.processors, "Processors of its machine (16)")
      ->check(CLI::Range(1, 256));
  app.add_option("--keep", setting.keep, "Write the last run's database there");
  app.parse(argc, argv);
  run(setting);
}

}  // namespace rooftile::tuning_bench
