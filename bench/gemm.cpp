// One interleaved run of every contestant (bench/contests/contest.h). It gives a table, a CSV, the
// cost of the dispatcher's choices, and the speed of tuned kernels over vendors' libraries.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <vector>

#include "bench/baselines/baseline.h"
#include "bench/contests/contest.h"
#include "bench/contests/program.h"
#include "core/error.h"
#include "db/store.h"
#include "runtime/host/host_blas.h"

namespace rooftile::gemm_bench {
namespace {

/// Compares auto with always-BLAS and with the best whole call, over all problems.
class Totals {
 public:
  void add(const ContestResult& result) {
    const Summary* chosen = result.time_of("auto");
    const Summary* blas = result.time_of("openblas");
    if (chosen == nullptr || blas == nullptr) return;
    auto_ns_ += chosen->median_ns;
    blas_ns_ += blas->median_ns;
    double best = blas->median_ns;
    for (const char* name : {"openblas1", "tuned"})
      if (const Summary* other = result.time_of(name)) best = std::min(best, other->median_ns);
    regrets_.push_back(chosen->median_ns / best);
  }
  void print() const {
    if (regrets_.empty()) return;
    std::vector<double> sorted = regrets_;
    std::sort(sorted.begin(), sorted.end());
    double sum = 0;
    for (double regret : sorted) sum += regret;
    fmt::print("total time of auto over always-BLAS: {:.4f}\n", auto_ns_ / blas_ns_);
    fmt::print("time of auto over the best tier's: mean {:.3f}, worst {:.3f} ({} problems)\n",
               sum / static_cast<double>(sorted.size()), sorted.back(), sorted.size());
  }

 private:
  double auto_ns_ = 0, blas_ns_ = 0;
  std::vector<double> regrets_;
};

/// Compares the tuned and the further kernels with each vendor's library, over all problems.
class BaselineTotals {
 public:
  void add(const ContestResult& result) {
    for (const ContestantResult& one : result.contestants)
      for (const BaselineRatio& ratio : one.ratios)
        ratios_[one.name + " over " + ratio.baseline].push_back(ratio);
  }
  void print() const {
    for (const auto& [pair, ratios] : ratios_) {
      std::vector<double> kernel, with_packing;
      for (const BaselineRatio& ratio : ratios) {
        kernel.push_back(ratio.kernel);
        with_packing.push_back(ratio.with_packing);
      }
      fmt::print(
          "speed of {}: geometric mean {:.3f}x, with packing {:.3f}x, worst {:.3f}x ({} "
          "problems)\n",
          pair, geometric_mean(kernel), geometric_mean(with_packing), std::ranges::min(kernel),
          ratios.size());
    }
  }

 private:
  std::map<std::string, std::vector<BaselineRatio>> ratios_;
};

void print(const Problem& p, const ContestResult& result) {
  const Summary* blas = result.time_of("openblas");
  for (const ContestantResult& one : result.contestants) {
    if (!one.time) {
      fmt::print("{:<28} {:<15} skipped: {}\n", to_string(p), one.name, one.skipped);
      continue;
    }
    const double ns = one.time->median_ns;
    fmt::print("{:<28} {:<15} {:>12.1f} {:>9.1f} {:>4} {:>9.2f} {:>8}  {}\n", to_string(p),
               one.name, ns * 1e-3, one.time->mad_ns * 1e-3, one.time->count, flops(p) / ns,
               blas != nullptr ? fmt::format("{:.3f}x", blas->median_ns / ns) : "-", one.detail);
  }
  for (const ContestantResult& one : result.contestants) {
    if (one.pack_ns > 0)
      fmt::print("{:<28} {}: packing besides {:.1f} us\n", to_string(p), one.name,
                 one.pack_ns * 1e-3);
    for (const BaselineRatio& ratio : one.ratios)
      fmt::print("{:<28} {} over {}: {:.3f}x{}\n", to_string(p), one.name, ratio.baseline,
                 ratio.kernel,
                 one.pack_ns > 0 ? fmt::format(", with packing {:.3f}x", ratio.with_packing) : "");
  }
  std::fflush(stdout);
}

void write_csv(CsvFile& file, const Problem& p, const ContestResult& result) {
  const Summary* blas = result.time_of("openblas");
  for (const ContestantResult& one : result.contestants) {
    if (!one.time) continue;
    const double ns = one.time->median_ns;
    file.add(fmt::format("{},{},{},{},{},{},{},{},{},{},{:.1f},{:.1f},{:.3f},{}", to_string(p), p.m,
                         p.n, p.k, p.trans_a == Transpose::kYes ? 1 : 0,
                         p.trans_b == Transpose::kYes ? 1 : 0, p.batch, to_string(p.types),
                         to_string(p.epilogue), one.name, ns, one.time->mad_ns, flops(p) / ns,
                         blas != nullptr ? fmt::format("{:.4f}", blas->median_ns / ns) : ""));
  }
}

void run(const ContestSetting& setting, const std::vector<TuneProblem>& problems,
         const std::string& csv) {
  Contest contest(setting);
  CsvFile file(csv,
               "problem,m,n,k,trans_a,trans_b,batch,type,epilogue,contestant,median_ns,mad_ns,"
               "gflops,ratio_to_openblas");
  const HostBlas& blas = HostBlas::get();
  fmt::print("device: {} ({})\n", contest.device().name, contest.device().driver_info);
  fmt::print("openblas: {}, kernels for {}, {} threads\n", blas.library(), blas.core_name(),
             blas.threads());
  for (const std::string& baseline : contest.baselines()) fmt::print("{}\n", baseline);
  fmt::print("{:<28} {:<15} {:>12} {:>9} {:>4} {:>9} {:>8}\n", "problem", "contestant", "median us",
             "mad us", "n", "GFLOP/s", "vs BLAS");
  Totals totals;
  BaselineTotals baselines;
  for (const TuneProblem& wanted : problems) {
    const ContestResult result = contest.run(wanted.problem);
    print(wanted.problem, result);
    totals.add(result);
    baselines.add(result);
    write_csv(file, wanted.problem, result);
  }
  totals.print();
  baselines.print();
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Example: rooftile-bench gemm --set squares --csv squares.csv\n"
      "         rooftile-bench gemm --m 512 --n 512 --k 512 --kernel \"family=naive tile_m=8 "
      "tile_n=16\"");
  ContestSetting setting;
  WantedProblems wanted;
  std::string csv;
  app.add_option("--db", setting.database, "Tuning database (default: the user's)");
  wanted.add_options(app);
  std::vector<std::string> against, kernels;
  app.add_option("--against", against, "Tuned kernels of these types in the same run")
      ->delimiter(',');
  app.add_option("--kernel", kernels, "Parameters of a further kernel, as of `rooftile emit`");
  app.add_option("--seconds", setting.seconds, "Time for one problem's samples (2)")
      ->check(CLI::PositiveNumber);
  app.add_option("--limit", setting.limit_s,
                 "Contestants slower than this many seconds are skipped (3)")
      ->check(CLI::PositiveNumber);
  CLI::Option* baseline =
      app.add_option("--baseline", setting.baselines,
                     "Vendors' libraries in the same run, by their device's clock: cublas (NVIDIA "
                     "driver and CUDA), clblast (CLBlast and OpenCL), ggml (its Vulkan back end)")
          ->delimiter(',')
          ->check(CLI::IsMember(baseline_names()));
  app.add_option("--baseline-library", setting.baseline_library,
                 "Path of the baseline's library, where the loader does not find it (for cublas "
                 "also: CUBLAS_LIBRARY)")
      ->needs(baseline)
      ->check(CLI::ExistingFile);
  app.add_option("--csv", csv, "Write the table here as well");
  app.parse(argc, argv);
  std::vector<std::string>& names = setting.baselines;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > 1 && !setting.baseline_library.empty())
    throw CLI::ValidationError("--baseline-library", "is one library's path; name one --baseline");
  for (const std::string& types : against) setting.against.push_back(parse_types(types));
  for (const std::string& kernel : kernels) {
    if (kernel.find("family=") == std::string::npos)
      fail(ErrorCode::kInvalidArgument, "--kernel '{}' names no family", kernel);
    setting.kernels.push_back(parse_variant(kernel));
  }
  if (setting.database.empty()) setting.database = default_database_path();
  run(setting, wanted.problems("default"), csv);
}

}  // namespace rooftile::gemm_bench
