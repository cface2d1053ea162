#include "bench/contests/simulated_gpu.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "generator/packed_format.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/gpu/gpu_generation.h"
#include "runtime/model/roofline.h"
#include "tuner/worker/serve_requests.h"
#include "tuner/worker/timed_operands.h"

namespace rooftile {
namespace {

// Measured kernels that tell a kernel's time, and what it differs from them in the logarithm.
constexpr std::size_t kNearest = 3;
constexpr double kOwnDeviation = 0.03, kSampleDeviation = 0.01;

std::vector<int> numbers_of(const Variant& v) {
  std::vector<int> numbers;
  for (const ParameterNumber& number : parameter_numbers(v)) numbers.push_back(number.value);
  return numbers;
}

/// Parameters that differ, and how far the problems' sizes lie apart.
double distance(const std::vector<int>& x, const std::vector<int>& y, double sizes) {
  double differ = sizes;
  for (std::size_t i = 0; i < x.size(); ++i) differ += x[i] != y[i] ? 1 : 0;
  return differ;
}

/// A standard normal number that is the same for the same text.
double normal_of(const std::string& text) {
  Random random(std::stoull(hash_hex(text).substr(0, 16), nullptr, 16));
  return std::sqrt(-2 * std::log(1 - random.unit())) *
         std::cos(2 * std::numbers::pi * random.unit());
}

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

class SimulatedGpu : public WorkerOperations {
 public:
  explicit SimulatedGpu(const SimulatedTimes& times) : times_(times) {}

  const DeviceProfile& open(const std::string&) override {
    sleep_s(costs_.open_s);
    return times_.device();
  }
  Calibrated calibrate(double) override { fail(ErrorCode::kUnsupported, "it is calibrated"); }
  Figure calibrate_matrix_unit(const MatrixShape&, double) override {
    fail(ErrorCode::kUnsupported, "it is calibrated");
  }

  CompileReply compile(const Variant& variant, const Signature& signature) override {
    const double seconds = compile_s(variant, signature);
    sleep_s(seconds);
    return {.compile_ns = 1e9 * seconds, .code = "code"};
  }

  TimeReply time(const TimeRequest& request) override {
    TimeAccount spent(Activity::kMeasuring);
    const auto take = [&](Activity activity, double seconds) {
      const auto scope = spent.during(activity);
      sleep_s(seconds);
      busy_until_s_ = now_s();
    };
    const Signature signature = signature_of(staged_problem(request.problem));
    const std::string name = to_string(request.variant) + to_string(signature);
    TimeReply reply{.hash = hash_hex(name)};
    if (!built_.contains(name)) {
      const double seconds =
          request.code.empty() ? compile_s(request.variant, signature) : costs_.from_code_s;
      take(Activity::kCompiling, seconds);
      reply.compile_ns = 1e9 * seconds;
      built_.insert(name);
    }
    if (operands_.insert(to_string(request.problem)).second)
      take(Activity::kOperands,
           costs_.operands_s + operand_bytes(request.problem, 0) / costs_.operand_bytes_per_s);
    raise_clocks(take);
    const double ns = times_.ns(request.problem, request.variant);
    const auto run = [&](int calls, int submissions, double one_ns) {
      take(Activity::kKernels, 1e-9 * calls * one_ns);
      take(Activity::kMeasuring, submissions * costs_.submit_s);
    };
    if (probed_.insert(name + to_string(request.problem)).second) run(3, 3, std::min(ns, 1e6));
    reply.estimate_ns = ns;
    if (ns <= request.limit_ns) {
      const int calls = 1 + request.samples;
      run(calls, calls * ns <= kTogetherNs ? 1 : calls, ns);
      for (int i = 0; i < request.samples; ++i)
        reply.kernel_ns.push_back(
            ns * (1 + kSampleDeviation * std::abs(normal_of(name + std::to_string(++samples_)))));
      take(Activity::kChecks, costs_.check_s);
    }
    reply.seconds = spent.seconds();
    return reply;
  }
  TimeReply time_reference(const TimeRequest& request) override { return time(request); }

  Certificate certify(const Variant& variant, const Signature& signature,
                      const std::string& code) override {
    if (built_.insert(to_string(variant) + to_string(signature)).second)
      sleep_s(code.empty() ? compile_s(variant, signature) : costs_.from_code_s);
    sleep_s(costs_.certificate_s);
    return {.passed = true, .cases = 1, .worst_ratio = 0.5};
  }
  std::vector<CompiledExecutable> inspect(const Variant&, const Signature&) override { return {}; }
  std::optional<CounterReadings> count(const CountRequest&) override { return std::nullopt; }

 private:
  double compile_s(const Variant& variant, const Signature& signature) const {
    const double spread = normal_of("compile " + to_string(variant) + to_string(signature));
    return costs_.compile_s * std::exp2(std::clamp(0.5 * spread, -1.3, 1.3));
  }

  /// As FullClocks does.
  void raise_clocks(const std::function<void(Activity, double)>& take) {
    if (now_s() < full_until_s_) return;
    take(Activity::kClocks,
         costs_.gauge_s + (now_s() - busy_until_s_ > costs_.idle_s ? costs_.ramp_s : 0));
    full_until_s_ = now_s() + FullClocks::kFullS;
  }

  const SimulatedTimes& times_;
  const SimulatedCosts costs_ = {};
  std::set<std::string> built_, probed_;
  std::set<std::string> operands_;  // Problems whose operands are kept.
  double busy_until_s_ = 0, full_until_s_ = 0;
  int samples_ = 0;
};

}  // namespace

SimulatedTimes::SimulatedTimes(const std::filesystem::path& database) {
  const Store store(database, OpenMode::kReadOnly);
  const std::vector<DeviceRecord> devices = store.devices();
  if (devices.empty()) fail(ErrorCode::kDatabase, "{} has no device", database.string());
  const auto tuned = std::ranges::find_if(
      devices, [&](const DeviceRecord& device) { return !store.winners(device.id).empty(); });
  const DeviceRecord& device = tuned != devices.end() ? *tuned : devices.front();
  const RowId row = device.id;
  device_ = device.profile;
  figures_ = store.latest_calibration(row);
  rates_ = calibration_from_figures(figures_).device;
  rates_.gpu = gpu_generation(device_);
  // The medians of all samples, in the order of the samples.
  std::map<std::pair<RowId, std::string>, std::vector<double>> found;
  store.for_each_sample(row, [&](const StoredSample& stored) {
    if (stored.sample.status == SampleStatus::kMeasured)
      found[{stored.sample.problem, stored.variant}].push_back(stored.sample.kernel.median_ns);
  });
  for (auto& [key, ns] : found) {
    try {
      const Problem problem = store.problem(key.first).value();
      const Variant variant = parse_variant(key.second);
      points_.push_back(
          {.problem = problem,
           .variant = variant,
           .numbers = numbers_of(variant),
           .log_ratio = std::log(median(ns) / analytical_ns(problem, variant, rates_))});
    } catch (const Error&) {  // A parameter that there is no more.
    }
  }
}

double SimulatedTimes::ns(const Problem& problem, const Variant& variant) const {
  const std::vector<int> numbers = numbers_of(variant);
  std::vector<std::pair<double, double>> nearest;  // Distances and ratios.
  for (const Point& point : points_) {
    if (point.problem.types != problem.types) continue;
    const double far = distance(numbers, point.numbers, size_distance(problem, point.problem));
    if (far == 0) return analytical_ns(problem, variant, rates_) * std::exp(point.log_ratio);
    nearest.emplace_back(far, point.log_ratio);
  }
  const std::size_t count = std::min(kNearest, nearest.size());
  std::ranges::partial_sort(nearest, nearest.begin() + static_cast<std::ptrdiff_t>(count));
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += nearest[i].second / nearest[i].first;
    weights += 1 / nearest[i].first;
  }
  const double own = kOwnDeviation * normal_of(to_string(variant) + to_string(problem));
  return analytical_ns(problem, variant, rates_) *
         std::exp((weights > 0 ? sum / weights : 0) + own);
}

int run_simulated_worker() {
  ::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* const database = std::getenv("ROOFTILE_SIMULATED_GPU");
  try {
    if (database == nullptr) fail(ErrorCode::kInvalidArgument, "rooftile-bench tuning starts it");
    const SimulatedTimes times(database);
    SimulatedGpu gpu(times);
    return serve_requests(std::cin, stdout, gpu) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rooftile-bench worker: {}\n", error.what());
    return 1;
  }
}

}  // namespace rooftile
