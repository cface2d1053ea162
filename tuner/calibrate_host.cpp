#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/random.h"
#include "core/statistics.h"
#include "runtime/host_blas.h"
#include "runtime/model/calibration.h"
#include "tuner/calibrate.h"

namespace rooftile {
namespace {

constexpr int kSamples = 5;
constexpr double kEnoughNs =
    20e6;  // per point: small products are repeated, large ones run kFewest times
constexpr int kFewest = 2;
constexpr std::size_t kTriadFloats =
    std::size_t{1} << 25;  // 128 MiB an array: past most last-level caches together

/// Times of single calls; very short ones are timed in groups, so that the clock's own cost
/// vanishes.
std::vector<double> times(const std::function<void()>& call) {
  call();
  const double start = now_ns();
  call();
  const double once = std::max(1.0, now_ns() - start);
  const int group = static_cast<int>(std::clamp(20e3 / once, 1.0, 1000.0));
  std::vector<double> sample;
  const double end = now_ns() + kEnoughNs;
  while (static_cast<int>(sample.size()) < kFewest ||
         (static_cast<int>(sample.size()) < kSamples && now_ns() < end)) {
    const double begin = now_ns();
    for (int i = 0; i < group; ++i) call();
    sample.push_back((now_ns() - begin) / group);
  }
  return sample;
}

void triad(const float* a, const float* b, float* c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + 3.0f * b[i];
}

std::vector<double> triad_gbps(int threads) {
  std::vector<float> a(kTriadFloats, 1.0f), b(kTriadFloats, 2.0f), c(kTriadFloats, 0.0f);
  std::vector<double> gbps;
  for (int sample = -1; sample < kSamples; ++sample) {
    const double start = now_ns();
    std::vector<std::jthread> team;
    const std::size_t share = kTriadFloats / static_cast<std::size_t>(threads);
    for (int t = 0; t < threads; ++t) {
      const std::size_t from = share * static_cast<std::size_t>(t);
      team.emplace_back(
          [&, from] { triad(a.data() + from, b.data() + from, c.data() + from, share); });
    }
    team.clear();  // joins
    if (sample >= 0)
      gbps.push_back(3.0 * sizeof(float) * static_cast<double>(share) * threads /
                     (now_ns() - start));
  }
  return gbps;
}

class HostCalibrator {
 public:
  explicit HostCalibrator(const std::atomic<bool>& stop) : blas_(HostBlas::get()), stop_(stop) {}

  std::vector<Figure> run() {
    tier(
        "threads",
        [&](const Problem& p) {
          blas_.sgemm(p, a_.data(), b_.data(), c_.data(), HostThreads::kAll);
        },
        blas_.threads(), 1);
    tier(
        "single",
        [&](const Problem& p) {
          blas_.sgemm(p, a_.data(), b_.data(), c_.data(), HostThreads::kOne);
        },
        1, 1);
    // Never chosen for speed: a coarser grid is enough to say what it costs.
    constexpr std::size_t kEveryEighth = 8;
    tier(
        "float64", [&](const Problem& p) { blas_.sgemm64(p, a_.data(), b_.data(), c_.data()); },
        blas_.threads(), kEveryEighth);
    return std::move(figures_);
  }

 private:
  void add(const std::string& figure, const std::string& unit, const std::vector<double>& sample) {
    figures_.push_back(
        {figure, unit, median(sample), median_absolute_deviation(sample), sample.size()});
  }
  void tier(const std::string& tier_name, const std::function<void(const Problem&)>& gemm,
            int threads, std::size_t stride);

  const HostBlas& blas_;
  const std::atomic<bool>& stop_;
  std::vector<Figure> figures_;
  std::vector<float> a_, b_, c_;
};

void HostCalibrator::tier(const std::string& tier_name,
                          const std::function<void(const Problem&)>& gemm, int threads,
                          std::size_t stride) {
  if (stop_.load()) return;
  add("host.bandwidth." + tier_name, "gbps", triad_gbps(threads));
  Random random(0x4057);
  const auto filled = [&](std::vector<float>& x, std::int64_t count) {
    const std::size_t before = x.size();
    if (static_cast<std::size_t>(count) <= before) return;
    x.resize(static_cast<std::size_t>(count));
    std::generate(x.begin() + static_cast<std::ptrdiff_t>(before), x.end(),
                  [&] { return random.symmetric(); });
  };
  constexpr std::int64_t kTiny = 1;
  filled(a_, 1), filled(b_, 1), filled(c_, 1);
  add("host.call." + tier_name, "ns", times([&] { gemm(packed_problem(kTiny, kTiny, kTiny)); }));
  const std::vector<Problem> grid = host_calibration_problems();
  for (std::size_t i = 0; i < grid.size(); i += stride) {
    const Problem& p = grid[i];
    if (stop_.load()) return;
    filled(a_, p.m * p.k);
    filled(b_, p.k * p.n);
    filled(c_, p.m * p.n);
    std::vector<double> gflops;
    for (double ns : times([&] { gemm(p); })) gflops.push_back(flops(p) / ns);
    add(fmt::format("host.gemm.{}.{}x{}x{}", tier_name, p.m, p.n, p.k), "gflops", gflops);
  }
}

}  // namespace

std::vector<Figure> calibrate_host(const std::atomic<bool>& stop) {
  return HostCalibrator(stop).run();
}

}  // namespace rooftile
