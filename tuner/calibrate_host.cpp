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
#include "tuner/host_kernels.h"
#include "tuner/probe.h"
#include "tuner/processor_time.h"

namespace rooftile {
namespace {

constexpr int kSamples = 5;
constexpr double kEnoughNs =
    8e6;  // per point: small products are repeated, large ones run kFewest times
constexpr int kFewest = 2;
constexpr std::size_t kStreamFloats =
    std::size_t{1} << 25;  // 128 MiB an array: past most last-level caches together

/// Times of single calls after a first one; very short ones are timed in groups, so that the
/// clock's own cost vanishes.
std::vector<double> times(const std::function<void()>& call) {
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

/// Times of all threads doing their share at once; share(thread) is run by each.
std::vector<double> team_times(int threads, const std::function<void(int)>& share) {
  const auto take = [&] {
    const ProcessorTime before = processor_time_now();
    std::vector<std::jthread> team;
    for (int t = 1; t < threads; ++t) team.emplace_back([&, t] { share(t); });
    share(0);
    team.clear();  // joins
    const ProcessorTime used = processor_time_now() - before;
    return Reading{.kernel_ns = used.wall_ns, .busy_share = busy_share(used, threads)};
  };
  take();
  return undisturbed(kSamples, take);
}

class HostCalibrator {
 public:
  explicit HostCalibrator(const std::atomic<bool>& stop) : blas_(HostBlas::get()), stop_(stop) {}

  std::vector<Figure> run_peaks() {
    peaks("threads", blas_.threads());
    peaks("single", 1);
    return std::move(figures_);
  }

  std::vector<Figure> run() {
    figures_ = run_peaks();
    stream_a_ = stream_b_ = stream_c_ = {};
    tier(
        "threads",
        [&](const Problem& p) {
          blas_.sgemm(p, a_.data(), b_.data(), c_.data(), HostThreads::kAll);
        },
        1);
    tier(
        "single",
        [&](const Problem& p) {
          blas_.sgemm(p, a_.data(), b_.data(), c_.data(), HostThreads::kOne);
        },
        1);
    // Never chosen for speed: a coarser grid is enough to say what it costs.
    constexpr std::size_t kEveryEighth = 8;
    tier(
        "float64", [&](const Problem& p) { blas_.sgemm64(p, a_.data(), b_.data(), c_.data()); },
        kEveryEighth);
    // It computes on all threads, too.
    const auto triad = std::ranges::find(figures_, "host.bandwidth.threads", &Figure::name);
    if (triad != figures_.end()) {
      Figure same = *triad;
      same.name = "host.bandwidth.float64";
      figures_.push_back(std::move(same));
    }
    return std::move(figures_);
  }

 private:
  void add(const std::string& figure, const std::string& unit, const std::vector<double>& sample) {
    figures_.push_back(figure_of(figure, unit, sample));
  }
  /// Bandwidth and multiply-adds, which no BLAS decides.
  void peaks(const std::string& tier_name, int threads);
  void tier(const std::string& tier_name, const std::function<void(const Problem&)>& gemm,
            std::size_t stride);

  const HostBlas& blas_;
  const std::atomic<bool>& stop_;
  std::vector<Figure> figures_;
  std::vector<float> a_, b_, c_;
  std::vector<float> stream_a_, stream_b_, stream_c_;
};

void HostCalibrator::peaks(const std::string& tier_name, int threads) {
  if (stop_.load()) return;
  const HostKernels kernels = host_kernels();
  for (std::vector<float>* x : {&stream_a_, &stream_b_, &stream_c_})
    x->resize(kStreamFloats, 1.0f);  // once for all tiers: fresh pages take longer than the kernels
  const std::size_t share = kStreamFloats / static_cast<std::size_t>(threads);
  for (const HostStream& stream : kernels.streams) {
    const std::vector<double> gbps = rates(
        static_cast<double>(stream.arrays) * sizeof(float) * static_cast<double>(share) * threads,
        team_times(threads, [&](int thread) {
          const std::size_t from = share * static_cast<std::size_t>(thread);
          stream.run(&stream_a_[from], &stream_b_[from], &stream_c_[from], share);
        }));
    const bool triad = stream.name == std::string_view("triad");
    add(triad ? "host.bandwidth." + tier_name
              : fmt::format("host.stream.{}.{}", stream.name, tier_name),
        "gbps", gbps);
  }
  constexpr std::uint64_t kTrips = 2'000'000;  // some ms
  add("host.fma." + tier_name, "gflops",
      rates(kernels.flops_per_trip * kTrips * threads, team_times(threads, [&](int) {
              const float result = kernels.fma(kTrips);
              asm volatile("" : : "m"(result));
            })));
}

void HostCalibrator::tier(const std::string& tier_name,
                          const std::function<void(const Problem&)>& gemm, std::size_t stride) {
  if (stop_.load()) return;
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

std::vector<Figure> calibrate_host_peaks(const std::atomic<bool>& stop) {
  return HostCalibrator(stop).run_peaks();
}

std::vector<Figure> calibrate_host(const std::atomic<bool>& stop) {
  return HostCalibrator(stop).run();
}

}  // namespace rooftile
