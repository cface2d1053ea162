#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/numbers/random.h"
#include "runtime/host/host_blas.h"
#include "runtime/host/host_tier.h"
#include "runtime/model/calibration.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/measure/host_kernels.h"
#include "tuner/measure/probe.h"
#include "tuner/measure/processor_time.h"
#include "tuner/measure/steady_samples.h"

namespace rooftile {
namespace {

constexpr std::size_t kCoarse = 8;  // Every eighth problem of the grid.
constexpr int kMostSamples = 7;     // Limit of samples of a problem.
constexpr double kShortNs = 50e3;   // Calls below this duration count as short.
// 128 MiB per array: more than most last-level caches together.
constexpr std::size_t kStreamFloats = std::size_t{1} << 25;

/// Time of a call directly after an equal one. Short calls are timed in groups, so that the clock's
/// own cost is negligible.
double warm_ns(const std::function<void()>& call) {
  constexpr double kGroupNs = 20e3;
  double start = now_ns();
  call();
  const double once = std::max(1.0, now_ns() - start);
  const int group = static_cast<int>(std::clamp(kGroupNs / once, 1.0, 1000.0));
  start = now_ns();
  for (int i = 0; i < group; ++i) call();
  return (now_ns() - start) / group;
}

/// Returns the time of all threads running their shares at once; each runs share(thread). The clock
/// starts when all threads are running, because creating a thread, and waking an idle processor,
/// takes up to a millisecond.
Reading team_time(int threads, const std::function<void(int)>& share) {
  std::atomic<int> absent = threads;
  std::vector<std::jthread> team;
  for (int t = 1; t < threads; ++t)
    team.emplace_back([&, t](const std::stop_token& given_up) {
      --absent;
      while (absent.load() > 0 && !given_up.stop_requested()) std::this_thread::yield();
      if (absent.load() == 0) share(t);
    });
  while (absent.load() > 1) std::this_thread::yield();
  const ProcessorTime before = processor_time_now();
  --absent;
  share(0);
  team.clear();  // Joins the threads.
  const ProcessorTime used = processor_time_now() - before;
  return {.kernel_ns = used.wall_ns, .busy_share = busy_share(used, threads)};
}

/// Arrays of the STREAM kernels, allocated once for all tiers, because touching new pages takes
/// longer than the kernels.
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
  constexpr std::uint64_t kTrips = 2'000'000;  // A few ms.
  sampled("host.fma." + tier_name, "gflops", kernels.flops_per_trip * kTrips,
          [fma = kernels.fma](int) {
            const float result = fma(kTrips);
            asm volatile("" : : "m"(result));
          });
}

/// BLAS calls over the grid: small problems first, tiers in turn, one sample of each per round. If
/// the machine is disturbed for a second, most samples of each problem are from before and after,
/// and its tiers, which are compared with each other, are disturbed alike. Problems for which the
/// first round (half of the time) has no time left are left out, except for those of a grid as
/// coarse as that of float64. Short problems get all of their rounds: they take hardly any time,
/// and 20 ns of noise are a third of the smallest.
class HostProducts {
 public:
  HostProducts(const std::atomic<bool>& stop, double end_s);

  std::vector<Figure> run();
  /// Whether other programs held processors in most long samples with all threads.
  bool processors_busy() const { return 2 * busy_samples_ > long_samples_; }

 private:
  struct Tier {
    std::string name;
    std::function<void(const Problem&)> gemm;
    std::size_t stride;  // Stride of the grid.
  };
  struct Measured {
    Problem problem;
    const Tier* tier;
    std::string figure, unit;
    bool is_coarse;              // Part of the coarse grid.
    std::vector<double> values;  // One per round.
    bool is_short = false;       // Known after the first sample.
  };

  void plan();
  void take_sample(Measured& of);
  void count_if_busy(const ProcessorTime& used);
  void raise_to_one_thread();
  static Figure fastest_of(const std::string& figure, const std::string& unit,
                           const std::vector<double>& values);

  const std::atomic<bool>& stop_;
  double end_s_;
  std::vector<Tier> tiers_;
  std::vector<Measured> all_;
  std::vector<float> a_, b_, c_;
  int long_samples_ = 0, busy_samples_ = 0;  // Of all threads.
};

HostProducts::HostProducts(const std::atomic<bool>& stop, double end_s)
    : stop_(stop), end_s_(end_s) {
  const HostBlas& blas = HostBlas::get();
  const auto on = [&](HostThreads threads) {
    return
        [&, threads](const Problem& p) { blas.sgemm(p, a_.data(), b_.data(), c_.data(), threads); };
  };
  // float64 is never chosen for speed, so a coarser grid suffices to predict its cost.
  tiers_ = {{"threads", on(HostThreads::kAll), 1},
            {"single", on(HostThreads::kOne), 1},
            {"float64",
             [&](const Problem& p) {
               const GemmCall call = {.problem = p, .a = a_.data(), .b = b_.data(), .c = c_.data()};
               run_on_host(blas, call, rooftile::Tier::kHost64);
             },
             kCoarse}};
  plan();
}

void HostProducts::plan() {
  std::int64_t a = 1, b = 1, c = 1;
  for (const Tier& tier : tiers_)
    all_.push_back({packed_problem(1, 1, 1), &tier, "host.call." + tier.name, "ns", true, {}});
  const std::vector<Problem> grid = host_calibration_problems();
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Problem& p = grid[i];
    a = std::max(a, p.m * p.k), b = std::max(b, p.k * p.n), c = std::max(c, p.m * p.n);
    for (const Tier& tier : tiers_)
      if (i % tier.stride == 0)
        all_.push_back({p,
                        &tier,
                        host_figure(tier.name, p.m == 1 || p.n == 1,
                                    {.m = static_cast<double>(p.m),
                                     .n = static_cast<double>(p.n),
                                     .k = static_cast<double>(p.k)}),
                        "gflops",
                        i % kCoarse == 0,
                        {}});
  }
  Random random(0x4057);
  for (const auto& [operand, count] : {std::pair(&a_, a), std::pair(&b_, b), std::pair(&c_, c)}) {
    operand->resize(static_cast<std::size_t>(count));
    std::ranges::generate(*operand, [&] { return random.symmetric(); });
  }
}

void HostProducts::take_sample(Measured& of) {
  const ProcessorTime before = processor_time_now();
  const double ns = warm_ns([&] { of.tier->gemm(of.problem); });
  if (of.tier == &tiers_.front()) count_if_busy(processor_time_now() - before);
  of.values.push_back(of.unit == "ns" ? ns : flops(of.problem) / ns);
  of.is_short = ns < kShortNs;
}

/// Counts a sample with all threads that is long enough to show other programs. BLAS may use fewer
/// threads than there are, so that idle processors alone are no sign.
void HostProducts::count_if_busy(const ProcessorTime& used) {
  constexpr double kLongNs = 1e6;
  if (used.wall_ns < kLongNs) return;
  ++long_samples_;
  const double lost = busy_share(used, HostBlas::get().threads());
  busy_samples_ += used.preemptions > 0 && lost > kBusyShare ? 1 : 0;
}

/// Raises the rates of all threads to those of one thread.
void HostProducts::raise_to_one_thread() {
  for (std::size_t i = 0; i + 1 < all_.size(); ++i) {
    Measured &threads = all_[i], &single = all_[i + 1];  // plan() makes each pair in this order.
    if (threads.tier != &tiers_[0] || single.tier != &tiers_[1] || threads.unit == "ns") continue;
    if (threads.values.empty() || single.values.empty()) continue;
    threads.values.push_back(std::ranges::max(single.values));
  }
}

/// Returns the fastest sample. Disturbances make samples slower, and many threads that wait for
/// each other more than one thread; a median of disturbed samples would move calls to one thread
/// that are faster on all threads.
Figure HostProducts::fastest_of(const std::string& figure, const std::string& unit,
                                const std::vector<double>& values) {
  Figure fastest = figure_of(figure, unit, values);
  const auto [least, most] = std::ranges::minmax(values);
  fastest.value = unit == "ns" ? least : most;
  return fastest;
}

std::vector<Figure> HostProducts::run() {
  // A slow host gets fewer large problems, each sampled twice.
  const double half_s = (now_s() + end_s_) / 2;
  for (int round = 0; round < kMostSamples; ++round) {
    const auto late = [&] { return now_s() >= (round == 0 ? half_s : end_s_); };
    for (Measured& measured : all_) {
      if (stop_.load()) break;
      const bool comes_late = round > 0 ? measured.is_short : measured.is_coarse;
      if (!late() || comes_late) take_sample(measured);
    }
  }
  if (processors_busy()) raise_to_one_thread();
  std::vector<Figure> figures;
  for (const Measured& measured : all_)
    if (!measured.values.empty())
      figures.push_back(fastest_of(measured.figure, measured.unit, measured.values));
  return figures;
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
  // BLAS in float64 also computes on all threads.
  Figure triad = *std::ranges::find(host.figures, "host.bandwidth.threads", &Figure::name);
  triad.name = "host.bandwidth.float64";
  host.figures.push_back(std::move(triad));
  const double peaks_s = now_s();
  HostProducts products(stop, start_s + seconds);
  for (Figure& figure : products.run()) host.figures.push_back(std::move(figure));
  host.processors_busy = products.processors_busy();
  host.parts = {{"host peaks", peaks_s - start_s}, {"host products", now_s() - peaks_s}};
  return host;
}

}  // namespace rooftile
