// Time of a decision for a problem that was never seen before. The target is below a microsecond
// with every rate calibrated.
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/model/dispatch.h"

namespace rooftile::model_bench {
namespace {

constexpr std::size_t kCalls = 1024;  // exceeds the history of a branch predictor

std::int64_t random_size(std::mt19937& random) {
  return std::llround(std::exp2(std::uniform_real_distribution(0.0, 13.0)(random)));
}

Calibration calibration() {
  Calibration c{.device = {.submit_ns = 40e3,
                           .dispatch_ns = 3e3,
                           .upload_gbps = 12,
                           .download_gbps = 12,
                           .fma_gflops = 15110,
                           .levels = {{.name = "cache", .gbps = 900, .footprint_bytes = 24e6},
                                      {.name = "memory", .gbps = 272}},
                           .compute_units = 24}};
  for (HostRates* rates : {&c.host, &c.host1, &c.host64}) {
    *rates = {.call_ns = 100, .gbps = 40};
    for (const Problem& p : host_calibration_problems())
      (p.m == 1 || p.n == 1 ? rates->gemv : rates->gemm)
          .push_back({.m = static_cast<double>(p.m),
                      .n = static_cast<double>(p.n),
                      .k = static_cast<double>(p.k),
                      .gflops = 200 * flops(p) / (flops(p) + 1e6)});
  }
  return c;
}

std::vector<TunedTime> tuned_times(std::size_t count, std::mt19937& random) {
  std::vector<TunedTime> tuned;
  while (tuned.size() < count) {
    const Problem p = packed_problem(random_size(random), random_size(random), random_size(random));
    tuned.push_back({.problem = p, .ns = 5e3 + flops(p) / 9000, .tile_m = 64, .tile_n = 64});
  }
  return tuned;
}

/// A full portfolio of the only class.
std::vector<PredictedClass> predicted_class(std::size_t problems, std::mt19937& random) {
  std::vector<MeasuredKernel> kernels(Selector::kMostKernels);
  const std::vector<TunedTime> times = tuned_times(problems, random);
  for (MeasuredKernel& kernel : kernels) {
    kernel.variant.tile_m = kernel.variant.tile_n = 1 << (3 + random() % 5);
    const double speed = std::uniform_real_distribution(0.5, 2.0)(random);
    for (const TunedTime& t : times) {
      const Problem& p = t.problem;
      kernel.times.push_back({.m = p.m, .n = p.n, .k = p.k, .batch = 1, .ns = speed * t.ns});
    }
  }
  return {{.selector = std::make_shared<const Selector>(Problem{}, calibration().device, kernels)}};
}

void decide_new_problem(benchmark::State& state) {
  std::mt19937 random(1);
  const std::vector<TunedTime> tuned =
      tuned_times(static_cast<std::size_t>(state.range(0)), random);
  const auto compared = static_cast<std::size_t>(state.range(1));
  const DispatchModel model(
      calibration(), DeviceKind::kDiscrete, tuned,
      compared > 0 ? predicted_class(compared, random) : std::vector<PredictedClass>{});
  std::vector<Call> calls(kCalls);
  for (Call& call : calls)
    call.problem = packed_problem(random_size(random), random_size(random), random_size(random));
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(decide(calls[next], model));
    next = (next + 1) % kCalls;
  }
}
BENCHMARK(decide_new_problem)
    ->Name("model/decide/tuned/compared")
    ->Args({0, 0})
    ->Args({32, 0})
    ->Args({512, 0})
    ->Args({32, 64});

/// Decides as calls do: kernels are predicted where the device may win, which is the most
/// expensive case.
void choose_contended(benchmark::State& state) {
  std::mt19937 random(1);
  const auto compared = static_cast<std::size_t>(state.range(0));
  const DispatchModel model(calibration(), DeviceKind::kDiscrete, tuned_times(32, random),
                            predicted_class(compared, random));
  std::vector<Call> calls;
  while (calls.size() < kCalls) {
    const Call call = {
        .problem = packed_problem(random_size(random), random_size(random), random_size(random))};
    if (choose(call, model).device_ns < std::numeric_limits<double>::infinity())
      calls.push_back(call);
  }
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(choose(calls[next], model));
    next = (next + 1) % kCalls;
  }
}
BENCHMARK(choose_contended)->Name("model/choose/contended/compared")->Arg(64)->Arg(100);

void prepare_selector(benchmark::State& state) {
  for (auto _ : state) {
    std::mt19937 random(1);
    benchmark::DoNotOptimize(predicted_class(static_cast<std::size_t>(state.range(0)), random));
  }
}
BENCHMARK(prepare_selector)->Name("model/prepare/compared")->Arg(64)->Unit(benchmark::kMillisecond);

void prepare_model(benchmark::State& state) {
  std::mt19937 random(1);
  const Calibration c = calibration();
  const std::vector<TunedTime> tuned =
      tuned_times(static_cast<std::size_t>(state.range(0)), random);
  for (auto _ : state) benchmark::DoNotOptimize(DispatchModel(c, DeviceKind::kDiscrete, tuned));
}
BENCHMARK(prepare_model)->Name("model/prepare/tuned")->Arg(32)->Unit(benchmark::kMillisecond);

}  // namespace

/// The options are those of Google's benchmarks, which has a help of its own.
void run(CLI::App&, int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc > 1) throw CLI::ExtrasError(std::vector<std::string>(argv + 1, argv + argc));
  benchmark::RunSpecifiedBenchmarks();
}

}  // namespace rooftile::model_bench
