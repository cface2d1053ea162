// Every contestant on the same operands in one interleaved run: tuned, untuned default and naive kernels by the device's
// clock, and whole calls on host pointers: device tier, BLAS on one and all threads, the dispatcher's own choice.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/statistics.h"
#include "db/store.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/context.h"
#include "runtime/device_tier.h"
#include "runtime/host_blas.h"
#include "tuner/measure.h"
#include "tuner/random.h"
#include "tuner/tune.h"

namespace rooftile {
namespace {

constexpr int kFewestRounds = 5, kMostRounds = 50;

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Contestant {
  std::string name;
  std::function<std::optional<double>()> run;  // ns of one product, or nothing: it cannot or takes too long
  std::vector<double> sample_ns = {};
  std::string skipped = {};
};

struct Setting {
  std::filesystem::path database;
  double seconds = 2, limit_s = 3;
};

class Bench {
 public:
  explicit Bench(const Setting& setting)
      : setting_(setting), device_context_({.database = setting.database}), auto_context_({.database = setting.database}) {
    const Enumeration found = enumerate_devices();
    if (found.devices.empty()) fail(ErrorCode::kDevice, "no Vulkan device: {}", found.note);
    const Store store(setting.database, OpenMode::kReadOnly);
    for (const DeviceProfile& profile : found.devices) {
      const auto row = store.find_device(profile);
      if (!row) continue;
      tier_ = std::make_unique<DeviceTier>(profile, store.tuned_kernels(*row, kGeneratorVersion), "");
      measurer_ = std::make_unique<Measurer>(Device::open(profile));
      return;
    }
    fail(ErrorCode::kDatabase, "no device of this machine is tuned in {}; run `rooftile tune`", setting.database.string());
  }

  std::vector<Contestant> run(const Problem& p) {
    operands(p);
    std::vector<Contestant> all;
    const auto host = [&](HostThreads threads) {
      HostBlas::get().sgemm(p, a_.data(), b_.data(), c_.data(), threads);
    };
    all.push_back(whole("openblas", [=] { host(HostThreads::kAll); }));
    all.push_back(whole("openblas1", [=] { host(HostThreads::kOne); }));
    const auto context = [&](Context& chosen, TierChoice tier) {
      chosen.sgemm({.problem = p, .a = a_.data(), .b = b_.data(), .c = c_.data(), .tier = tier});
    };
    all.push_back(whole("auto", [=, this] { context(auto_context_, TierChoice::kAuto); }));
    all.push_back(whole("tuned", [=, this] { context(device_context_, TierChoice::kDevice); }));
    const auto ranked = tier_->ranked(p);
    if (!ranked.empty()) all.push_back(kernel("tuned", ranked.front()->candidate.variant, p));
    all.push_back(kernel("default", default_variant(tier_->profile()), p));
    all.push_back(kernel("naive", fallback_variant(), p));
    interleave(all);
    return all;
  }
  double pack_ns() const { return pack_ns_; }

 private:
  static Contestant whole(const std::string& name, const std::function<void()>& call) {
    return {name, [call]() -> std::optional<double> {
              const double start = now_ns();
              call();
              return now_ns() - start;
            }};
  }
  Contestant kernel(const std::string& name, const Variant& variant, const Problem& p) {
    return {name + "_kernel", [=, this]() -> std::optional<double> {
              // The limit is on one workgroup after the other: four times what two cores need.
              const TimeReply reply = measurer_->time({.variant = variant, .problem = p, .samples = 1,
                                                       .limit_ns = 4e9 * setting_.limit_s, .rotate_bytes = 0});
              if (reply.kernel_ns.empty()) return std::nullopt;
              if (name == "tuned") pack_ns_ = reply.pack_ns;
              return reply.kernel_ns.front();
            }};
  }
  void operands(const Problem& p) {
    Random random(7);
    const auto fill = [&](std::vector<float>& x, std::int64_t count) {
      x.resize(static_cast<std::size_t>(count));
      std::generate(x.begin(), x.end(), [&] { return random.symmetric(); });
    };
    fill(a_, span_elements(stored_a(p), p.lda));
    fill(b_, span_elements(stored_b(p), p.ldb));
    fill(c_, span_elements({p.m, p.n}, p.ldc));
  }
  void interleave(std::vector<Contestant>& all) const {
    const double end = now_ns() + setting_.seconds * 1e9;
    for (int round = -1; round < kMostRounds && (round < kFewestRounds || now_ns() < end); ++round) {
      for (Contestant& contestant : all) {
        if (!contestant.skipped.empty()) continue;
        try {
          const auto ns = contestant.run();
          if (!ns || *ns > setting_.limit_s * 1e9) {
            contestant.skipped = "slower than the limit";
          } else if (round >= 0) {  // the first turn warms up
            contestant.sample_ns.push_back(*ns);
          }
        } catch (const Error& error) {
          contestant.skipped = error.what();
        }
      }
    }
  }

  Setting setting_;
  Context device_context_, auto_context_;
  std::unique_ptr<DeviceTier> tier_;
  std::unique_ptr<Measurer> measurer_;
  std::vector<float> a_, b_, c_;
  double pack_ns_ = 0;
};

int run(const Setting& setting, const std::vector<TuneProblem>& problems, const std::string& csv) {
  Bench bench(setting);
  std::ofstream file;
  if (!csv.empty()) {
    file.open(csv);
    if (!file) fail(ErrorCode::kIo, "cannot write {}", csv);
    file << "problem,m,n,k,trans_a,trans_b,batch,type,contestant,median_ns,mad_ns,gflops,ratio_to_openblas\n";
  }
  fmt::print("BLAS: {}, {} threads\n", HostBlas::get().library(), HostBlas::get().threads());
  fmt::print("{:<22} {:<16} {:>12} {:>10} {:>9} {:>9}\n", "problem", "contestant", "median us", "mad us", "GFLOP/s", "vs BLAS");
  double auto_ns = 0, blas_ns = 0;
  for (const TuneProblem& wanted : problems) {
    Problem p = wanted.problem;
    p.batch = 1;  // a batch is timed as one of its products
    const std::vector<Contestant> contestants = bench.run(p);
    const double yardstick = contestants.front().sample_ns.empty() ? 0 : median(contestants.front().sample_ns);
    for (const Contestant& contestant : contestants) {
      if (contestant.sample_ns.empty()) {
        fmt::print("{:<22} {:<16} skipped: {}\n", to_string(p), contestant.name, contestant.skipped);
        continue;
      }
      const double ns = median(contestant.sample_ns), mad = median_absolute_deviation(contestant.sample_ns);
      if (contestant.name == "auto" && yardstick > 0) auto_ns += ns, blas_ns += yardstick;
      fmt::print("{:<22} {:<16} {:>12.1f} {:>10.1f} {:>9.2f} {:>8.3f}x\n", to_string(p), contestant.name, ns * 1e-3,
                 mad * 1e-3, flops(p) / ns, yardstick / ns);
      if (file.is_open())
        file << fmt::format("{},{},{},{},{},{},{},{},{},{:.1f},{:.1f},{:.3f},{:.4f}\n", to_string(p), p.m, p.n, p.k,
                            p.trans_a == Transpose::kYes ? 1 : 0, p.trans_b == Transpose::kYes ? 1 : 0, p.batch,
                            name(p.type), contestant.name, ns, mad, flops(p) / ns, yardstick / ns);
    }
    fmt::print("{:<22} packing of the tuned kernel: {:.1f} us\n", to_string(p), bench.pack_ns() * 1e-3);
    std::fflush(stdout);
  }
  if (blas_ns > 0) fmt::print("total time of auto over always-BLAS: {:.4f}\n", auto_ns / blas_ns);
  return 0;
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  using namespace rooftile;
  CLI::App app("Compares kernels, BLAS and the dispatcher in one interleaved run.\nExample: bench_gemm --set squares --csv squares.csv");
  Setting setting{.database = default_database_path()};
  std::string set = "default", shapes, csv;
  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  app.add_option("--db", setting.database, "Tuning database");
  app.add_option("--set", set, "Built-in problems");
  app.add_option("--shapes", shapes, "CSV with the columns m,n,k,trans_a,trans_b,batch,note");
  app.add_option("--m", m, "One problem")->check(CLI::PositiveNumber);
  app.add_option("--n", n)->check(CLI::PositiveNumber);
  app.add_option("--k", k)->check(CLI::PositiveNumber);
  app.add_flag("--trans-a", trans_a);
  app.add_flag("--trans-b", trans_b);
  app.add_option("--seconds", setting.seconds, "A problem (2)")->check(CLI::PositiveNumber);
  app.add_option("--limit", setting.limit_s, "Contestants slower than this many seconds a product are skipped (3)");
  app.add_option("--csv", csv, "Write the table here as well");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::vector<TuneProblem> problems =
        m > 0 ? std::vector<TuneProblem>{{packed_problem(m, n, k, trans_a ? Transpose::kYes : Transpose::kNo,
                                                         trans_b ? Transpose::kYes : Transpose::kNo), ""}}
        : shapes.empty() ? problem_set(set)
                         : read_problem_csv(shapes);
    return rooftile::run(setting, problems, csv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_gemm: {}\n", error.what());
    return 1;
  }
}
