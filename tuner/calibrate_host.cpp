#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/random.h"
#include "runtime/host_blas.h"
#include "runtime/model/calibration.h"
#include "tuner/calibrate.h"
#include "tuner/host_kernels.h"
#include "tuner/probe.h"
#include "tuner/processor_time.h"

namespace rooftile {
namespace {

constexpr int kSamples = 5;  // of a point at most
constexpr double kShortNs = 1e5;
constexpr std::size_t kStreamFloats =
    std::size_t{1} << 25;  // 128 MiB an array: past most last-level caches together

/// Times of single calls after a first one, until there are kSamples or the time is up; a first one
/// that took all of it is the sample, but for short calls. Very short ones are timed in groups, so
/// that the clock's own cost vanishes.
std::vector<double> times(const std::function<void()>& call, double end_ns) {
  const double start = now_ns();
  call();
  const double once = std::max(1.0, now_ns() - start);
  const int group = static_cast<int>(std::clamp(20e3 / once, 1.0, 1000.0));
  std::vector<double> sample;
  while (static_cast<int>(sample.size()) < kSamples &&
         (now_ns() < end_ns || (once < kShortNs && sample.empty()))) {
    const double begin = now_ns();
    for (int i = 0; i < group; ++i) call();
    sample.push_back((now_ns() - begin) / group);
  }
  return sample.empty() ? std::vector<double>{once} : sample;
}

/// Time of all threads doing their share at once; share(thread) is run by each.
Reading team_time(int threads, const std::function<void(int)>& share) {
  const ProcessorTime before = processor_time_now();
  std::vector<std::jthread> team;
  for (int t = 1; t < threads; ++t) team.emplace_back([&, t] { share(t); });
  share(0);
  team.clear();  // joins
  const ProcessorTime used = processor_time_now() - before;
  return {.kernel_ns = used.wall_ns, .busy_share = busy_share(used, threads)};
}

/// Arrays of the STREAM kernels, once for all tiers: fresh pages take longer than the kernels.
struct StreamArrays {
  std::vector<float> a = ones(), b = ones(), c = ones();

 private:
  static std::vector<float> ones() { return std::vector<float>(kStreamFloats, 1.0f); }
};

void add_peaks(std::vector<SampledFigure>& figures, const std::string& tier_name, int threads,
               const std::shared_ptr<StreamArrays>& arrays) {
  const HostKernels kernels = host_kernels();
  const auto sampled = [&](std::string figure, std::string unit, double amount,
                           std::function<void(int)> share) {
    figures.push_back({std::move(figure), std::move(unit), [=, share = std::move(share)] {
                         const Reading reading = team_time(threads, share);
                         return Turn{amount * threads / reading.kernel_ns, reading.busy_share};
                       }});
  };
  const std::size_t share = kStreamFloats / static_cast<std::size_t>(threads);
  for (const HostStream& stream : kernels.streams) {
    const bool triad = stream.name == std::string_view("triad");
    sampled(triad ? "host.bandwidth." + tier_name
                  : fmt::format("host.stream.{}.{}", stream.name, tier_name),
            "gbps", static_cast<double>(stream.arrays) * sizeof(float) * static_cast<double>(share),
            [arrays, share, run = stream.run](int thread) {
              const std::size_t from = share * static_cast<std::size_t>(thread);
              run(&arrays->a[from], &arrays->b[from], &arrays->c[from], share);
            });
  }
  constexpr std::uint64_t kTrips = 2'000'000;  // some ms
  sampled("host.fma." + tier_name, "gflops", kernels.flops_per_trip * kTrips,
          [fma = kernels.fma](int) {
            const float result = fma(kTrips);
            asm volatile("" : : "m"(result));
          });
}

/// BLAS calls over the grid, small ones first. Tiers take turns, problem by problem, and share what
/// time is left equally: what small problems do not need is left for large ones. When time is up,
/// the rest of the grid is as coarse as that of float64.
class HostProducts {
 public:
  HostProducts(const std::atomic<bool>& stop, double end_s) : stop_(stop), end_s_(end_s) {}

  std::vector<Figure> run();

 private:
  struct Tier {
    std::string name;
    std::function<void(const Problem&)> gemm;
    std::size_t stride;  // of the grid
  };

  void measure(const std::string& figure, const std::string& unit, const Tier& tier,
               const Problem& p, const std::function<double(double)>& value_of_ns);

  const std::atomic<bool>& stop_;
  double end_s_;
  std::size_t left_ = 0;  // measurements to come
  std::vector<Figure> figures_;
  std::vector<float> a_, b_, c_;
};

void HostProducts::measure(const std::string& figure, const std::string& unit, const Tier& tier,
                           const Problem& p, const std::function<double(double)>& value_of_ns) {
  const double share_s = std::max(0.0, end_s_ - now_s()) / static_cast<double>(left_--);
  std::vector<double> values;
  for (double ns : times([&] { tier.gemm(p); }, now_ns() + 1e9 * share_s))
    values.push_back(value_of_ns(ns));
  figures_.push_back(figure_of(figure, unit, values));
}

std::vector<Figure> HostProducts::run() {
  constexpr std::size_t kCoarse = 8;  // every eighth problem
  const HostBlas& blas = HostBlas::get();
  // In float64 it is never chosen for speed: a coarser grid is enough to say what it costs.
  const Tier tiers[] = {
      {"threads",
       [&](const Problem& p) { blas.sgemm(p, a_.data(), b_.data(), c_.data(), HostThreads::kAll); },
       1},
      {"single",
       [&](const Problem& p) { blas.sgemm(p, a_.data(), b_.data(), c_.data(), HostThreads::kOne); },
       1},
      {"float64", [&](const Problem& p) { blas.sgemm64(p, a_.data(), b_.data(), c_.data()); },
       kCoarse}};
  Random random(0x4057);
  const auto filled = [&](std::vector<float>& x, std::int64_t count) {
    const std::size_t before = x.size();
    if (static_cast<std::size_t>(count) <= before) return;
    x.resize(static_cast<std::size_t>(count));
    std::generate(x.begin() + static_cast<std::ptrdiff_t>(before), x.end(),
                  [&] { return random.symmetric(); });
  };
  const std::vector<Problem> grid = host_calibration_problems();
  for (const Tier& tier : tiers) left_ += 1 + (grid.size() + tier.stride - 1) / tier.stride;
  filled(a_, 1), filled(b_, 1), filled(c_, 1);
  for (const Tier& tier : tiers)
    measure("host.call." + tier.name, "ns", tier, packed_problem(1, 1, 1),
            [](double ns) { return ns; });
  for (std::size_t i = 0; i < grid.size() && !stop_.load(); ++i) {
    if (now_s() >= end_s_ && i % kCoarse != 0) continue;
    const Problem& p = grid[i];
    filled(a_, p.m * p.k);
    filled(b_, p.k * p.n);
    filled(c_, p.m * p.n);
    for (const Tier& tier : tiers)
      if (i % tier.stride == 0)
        measure(fmt::format("host.gemm.{}.{}x{}x{}", tier.name, p.m, p.n, p.k), "gflops", tier, p,
                [&](double ns) { return flops(p) / ns; });
  }
  return std::move(figures_);
}

}  // namespace

std::vector<SampledFigure> host_peaks() {
  const auto arrays = std::make_shared<StreamArrays>();
  std::vector<SampledFigure> figures;
  add_peaks(figures, "threads", HostBlas::get().threads(), arrays);
  add_peaks(figures, "single", 1, arrays);
  return figures;
}

Calibrated calibrate_host(const std::atomic<bool>& stop, double seconds) {
  constexpr double kPeaksShare = 0.35;
  const double start_s = now_s();
  if (stop.load()) return {};
  Calibrated host{.figures = sample_in_rounds(host_peaks(), start_s + kPeaksShare * seconds)};
  // The figure of BLAS in float64, which computes on all threads, too.
  Figure triad = *std::ranges::find(host.figures, "host.bandwidth.threads", &Figure::name);
  triad.name = "host.bandwidth.float64";
  host.figures.push_back(std::move(triad));
  const double peaks_s = now_s();
  for (Figure& figure : HostProducts(stop, start_s + seconds).run())
    host.figures.push_back(std::move(figure));
  host.parts = {{"host peaks", peaks_s - start_s}, {"host products", now_s() - peaks_s}};
  return host;
}

}  // namespace rooftile
