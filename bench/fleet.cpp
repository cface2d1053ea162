// Time and memory of `rooftile db merge`, `rooftile report` and the tuner's transfer query on a
// fleet's exported files. The files are simulated: devices of a few vendors with random rates,
// kernels of the real space, and the analytical model's times with log-normal noise for kernel and
// device.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "db/store.h"
#include "generator/emit.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/model/calibration.h"
#include "runtime/model/roofline.h"

namespace rooftile::fleet_bench {
namespace {

namespace fs = std::filesystem;

// Targets for 1,000 files of 1,000 samples.
constexpr double kMergeS = 60, kMemoryMb = 300, kReportS = 2, kTransferMs = 50;
constexpr int kVendors = 6, kProducts = 40,
              kDrivers = 12;  // Each device uses one of these drivers.
// Sizes of the fleet's sets of problems and kernels.
constexpr std::size_t kProblems = 60, kKernels = 400;
constexpr std::size_t kProblemsOfAFile = 10;
constexpr std::size_t kTransferLimit = 200;
constexpr int kTransferTurns = 30;

struct Settings {
  std::size_t files = 1000, samples = 1000;
  std::uint64_t seed = 1;
  fs::path folder, program;
};

struct Kernel {
  Variant variant;
  std::string hash;
};

class Fleet {
 public:
  explicit Fleet(const Settings& settings) : settings_(settings), random_(settings.seed) {
    limits_.max_workgroup_invocations = 1024;
    limits_.max_workgroup_size = {1024, 1024, 64};
    limits_.shared_memory_bytes = 49152;
    std::vector<Variant> space = legal_variants(limits_);
    std::ranges::shuffle(space, random_);
    const Signature signature = {};
    for (const Variant& variant : space)
      if (kernels_.size() < kKernels && !illegal_reason(variant, limits_, signature))
        kernels_.push_back({variant, emit_gemm(variant, signature).hash});
    while (problems_.size() < kProblems)
      problems_.push_back(packed_problem(size(), size(), size()));
  }

  /// One machine's exported file.
  void write(std::size_t number) {
    const fs::path database = settings_.folder / "machine.db";
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(database.string() + suffix);
    Store store(database);
    const DeviceProfile profile = device(number);
    const DeviceRates rates = this->rates();
    const RowId device = store.device_id(profile);
    store.add_calibration(device, to_figures(Calibration{.device = rates}));
    Store::Transaction transaction(store);
    const RowId run = store.begin_run(device, kGeneratorVersion, R"({"strategy":"simulated"})");
    std::vector<Problem> problems = problems_;
    std::ranges::shuffle(problems, random_);
    problems.resize(kProblemsOfAFile);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const std::size_t share =
          settings_.samples / problems.size() + (i < settings_.samples % problems.size() ? 1 : 0);
      tune(store, device, run, problems[i], rates, share);
    }
    store.end_run(run, "finished");
    transaction.commit();
    store.export_to(file(number), std::vector<RowId>{device});
  }
  fs::path file(std::size_t number) const {
    return settings_.folder / fmt::format("machine{:04}.db", number);
  }
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::int64_t size() {
    return std::llround(std::exp2(std::uniform_real_distribution(3.0, 12.0)(random_)));
  }
  std::uint32_t below(int bound) {
    return static_cast<std::uint32_t>(std::uniform_int_distribution(0, bound - 1)(random_));
  }
  DeviceProfile device(std::size_t number) {
    DeviceProfile profile;
    const std::uint32_t vendor = below(kVendors), product = below(kProducts),
                        driver = below(kDrivers);
    profile.name = fmt::format("simulated GPU {}-{}", vendor, product);
    profile.device_uuid = fmt::format("{:032x}", number);
    profile.vendor_id = 0x20000 + vendor;
    profile.device_id = product;
    profile.driver_id = 1000 + vendor;
    profile.driver_version = driver;
    profile.driver_name = "simulated";
    profile.driver_info = fmt::format("version {}", driver);
    profile.pipeline_cache_uuid = fmt::format("{:032x}", driver);
    profile.kind = vendor % 2 == 0 ? DeviceKind::kDiscrete : DeviceKind::kIntegrated;
    profile.device_memory_bytes = std::uint64_t{8} << 30;
    profile.limits = limits_;
    return profile;
  }
  DeviceRates rates() {
    const double speed = std::exp2(std::uniform_real_distribution(0.0, 5.0)(random_));
    return {.submit_ns = 20e3,
            .dispatch_ns = 2e3,
            .upload_gbps = 12,
            .download_gbps = 12,
            .fma_gflops = 500 * speed,
            .levels = {{.name = "cache", .gbps = 100 * speed, .footprint_bytes = 4e6},
                       {.name = "memory", .gbps = 30 * speed}},
            .compute_units = std::ceil(2 * speed)};
  }
  void tune(Store& store, RowId device, RowId run, const Problem& problem, const DeviceRates& rates,
            std::size_t samples) {
    // Standard deviation of the logarithm of a kernel's time on a device.
    constexpr double kNoise = 0.3;
    constexpr std::size_t kRanked = 3;
    std::lognormal_distribution<double> noise(0.0, kNoise);
    const RowId problem_row = store.problem_id(problem);
    const std::size_t first = below(static_cast<int>(kernels_.size()));
    std::vector<WinnerRecord> ranked;
    for (std::size_t i = 0; i < samples; ++i) {
      const Kernel& kernel = kernels_[(first + i) % kernels_.size()];
      const RowId candidate = store.candidate_id(
          {.hash = kernel.hash, .signature = to_string(Signature{}), .variant = kernel.variant});
      const double ns = analytical_ns(problem, kernel.variant, rates) * noise(random_);
      store.add_sample({.run = run,
                        .candidate = candidate,
                        .problem = problem_row,
                        .kernel = {ns, 0.01 * ns, 0.98 * ns, 1.02 * ns, 7},
                        .compile_ns = 5e6});
      ranked.push_back({.candidate = candidate, .problem = problem_row, .kernel_ns = ns});
    }
    std::ranges::sort(ranked, {}, &WinnerRecord::kernel_ns);
    ranked.resize(std::min(ranked.size(), kRanked));
    for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i].rank = static_cast<int>(i);
    store.put_winners(device, to_string(bucket_of(problem)), ranked);
  }

  Settings settings_;
  std::mt19937_64 random_;
  DeviceLimits limits_;
  std::vector<Kernel> kernels_;
  std::vector<Problem> problems_;
};

struct Cost {
  double wall_s = 0, processor_s = 0, memory_mb = 0;
};

/// Runs the program and discards its output.
Cost run(const fs::path& program, std::vector<std::string> arguments) {
  std::vector<char*> words;
  arguments.insert(arguments.begin(), program.string());
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const double start_s = now_s();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  int status = 0;
  rusage used = {};
  if (child < 0 || ::wait4(child, &status, 0, &used) != child || !WIFEXITED(status) ||
      WEXITSTATUS(status) != 0)
    throw std::runtime_error(fmt::format("{} failed", program.string()));
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {.wall_s = now_s() - start_s,
          .processor_s = seconds(used.ru_utime) + seconds(used.ru_stime),
          .memory_mb = static_cast<double>(used.ru_maxrss) / 1024};
}

void print(const std::string& what, const Cost& cost, double wanted_s) {
  fmt::print(
      "{:<34} {:>7.2f} s of {:.0f} ({:.2f} of it), {:.2f} s of processor, {:.0f} MB of {:.0f}\n",
      what, cost.wall_s, wanted_s, cost.wall_s / wanted_s, cost.processor_s, cost.memory_mb,
      kMemoryMb);
  std::fflush(stdout);
}

/// Time of the tuner's transfer query for a device outside of the fleet; the slowest over the
/// problems.
void ask(const fs::path& merged, const Fleet& fleet) {
  const Store store(merged, OpenMode::kReadOnly);
  std::vector<double> ms;
  std::size_t found = 0;
  const std::vector<DeviceRecord> devices = store.devices();
  for (int turn = 0; turn < kTransferTurns; ++turn) {
    const auto at = static_cast<std::size_t>(turn);
    Problem problem = fleet.problems()[at % fleet.problems().size()];
    if (turn % 2 == 1) problem = packed_problem(problem.m + 1, problem.n + 3, problem.k + 5);
    const double start_s = now_s();
    found += store.transfer_samples(devices[(at * 37) % devices.size()].id, problem, kTransferLimit)
                 .size();
    ms.push_back(1e3 * (now_s() - start_s));
  }
  fmt::print("{:<34} {:>7.1f} ms of {:.0f}, slowest {:.1f} ms, {:.0f} samples each\n",
             "transfer query", median(ms), kTransferMs, *std::ranges::max_element(ms),
             static_cast<double>(found) / kTransferTurns);
}

void measure(const Settings& settings) {
  fs::create_directories(settings.folder);
  Fleet fleet(settings);
  double start_s = now_s();
  std::vector<std::string> files;
  for (std::size_t i = 0; i < settings.files; ++i) {
    fleet.write(i);
    files.push_back(fleet.file(i).string());
  }
  fmt::print("{} files of {} samples made in {:.0f} s\n", settings.files, settings.samples,
             now_s() - start_s);
  const fs::path merged = settings.folder / "merged.db";
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(merged.string() + suffix);
  std::vector<std::string> merge = {"db", "merge", merged.string()};
  merge.insert(merge.end(), files.begin(), files.end());
  print("db merge", run(settings.program, merge), kMergeS);
  print("db merge again, nothing new", run(settings.program, merge), kMergeS);
  fmt::print("{:<34} {:>7.0f} MB\n", "the merged file",
             1e-6 * static_cast<double>(fs::file_size(merged)));
  print("report", run(settings.program, {"--db", merged.string(), "report"}), kReportS);
  print("db stats", run(settings.program, {"--db", merged.string(), "db", "stats"}), kReportS);
  print("db export",
        run(settings.program, {"--db", merged.string(), "db", "export",
                               (settings.folder / "all.db").string(), "--force"}),
        kMergeS);
  ask(merged, fleet);
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  Settings settings;
  app.footer("Simulated exports of many machines are merged, and the result is asked.");
  app.add_option("folder", settings.folder, "For the files; 1 GB with the defaults")->required();
  app.add_option("--files", settings.files, "Machines");
  app.add_option("--samples", settings.samples, "Of each");
  app.add_option("--seed", settings.seed, "Of the simulation");
  app.add_option("--program", settings.program, "rooftile, if it is not this build's");
  app.parse(argc, argv);
  if (settings.program.empty()) settings.program = own_file("rooftile");
  measure(settings);
}

}  // namespace rooftile::fleet_bench
