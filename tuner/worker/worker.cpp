#include "tuner/worker/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "core/error.h"
#include "generator/compile.h"
#include "generator/emit.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/worker/serve_requests.h"

namespace rooftile {
namespace {

class OnDevice : public WorkerOperations {
 public:
  const DeviceProfile& open(const std::string& device_uuid) override {
    const Enumeration found = enumerate_devices();
    for (const DeviceProfile& profile : found.devices) {
      if (profile.device_uuid != device_uuid) continue;
      counting_.reset();
      inspecting_.reset();
      // No pipeline cache is used, so that every candidate's compile time is its own.
      device_ = Device::open(profile, {.compiler_statistics = CompilerStatistics::kKeep});
      const auto free =
          profile.kind == DeviceKind::kSoftware ? std::make_shared<FreeProcessors>() : nullptr;
      clocks_ = std::make_shared<FullClocks>(device_);
      measurer_.emplace(device_, free, clocks_);
      reference_.emplace(device_, free, clocks_);
      return device_->profile();
    }
    fail(ErrorCode::kDevice, "device {} is no longer available{}{}", device_uuid,
         found.note.empty() ? "" : ": ", found.note);
  }

  Calibrated calibrate(double seconds) override { return calibrate_device(*clocks_, seconds); }
  Figure calibrate_matrix_unit(const MatrixShape& shape, double compute_units) override {
    return rooftile::calibrate_matrix_unit(*clocks_, shape, compute_units);
  }
  TimeReply time(const TimeRequest& request) override { return measurer_->time(request); }
  TimeReply time_reference(const TimeRequest& request) override {
    return reference_->time(request);
  }
  Certificate certify(const Variant& variant, const Signature& signature,
                      const std::string& code) override {
    return measurer_->certify(variant, signature, code);
  }
  CompileReply compile(const Variant& variant, const Signature& signature) override {
    return measurer_->compile(variant, signature);
  }

  /// From the first call on, counters are read on a separate device, because kernels may be slower
  /// where counters can be read.
  std::optional<CounterReadings> count(const CountRequest& request) override {
    if (!counting_) {
      const DeviceProfile& profile = device_->profile();
      if (performance_counters(profile).empty()) return std::nullopt;
      counting_.emplace(Device::open(profile, {.counter_queries = CounterQueries::kOn}));
    }
    return counting_->count(request);
  }

  /// Compiles on a device of its own, because keeping the compiler's texts may slow compilation
  /// down. Shaders for packed operands and for partial sums are left out.
  std::vector<CompiledExecutable> inspect(const Variant& variant,
                                          const Signature& signature) override {
    if (inspecting_ == nullptr)
      inspecting_ = Device::open(device_->profile(),
                                 {.compiler_statistics = CompilerStatistics::kKeepWithTexts});
    const Shader shader = emit_gemm(variant, signature);
    return inspecting_->create_pipeline(rooftile::compile(shader), shader.interface).executables();
  }

 private:
  std::shared_ptr<Device> device_, inspecting_;
  std::shared_ptr<FullClocks> clocks_;
  std::optional<Measurer> measurer_, reference_, counting_;
};

}  // namespace

int run_worker() {
  // The tuner handles Ctrl-C, and a worker without its tuner has no use.
  ::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A crash here is a measurement and not worth gigabytes of core file. When the machine's memory
  // runs out, this is the process to kill (proc(5): 1000 is the maximum).
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  const int replies = ::dup(STDOUT_FILENO);
  if (replies < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  FILE* const out = ::fdopen(replies, "w");
  if (out == nullptr) return 1;
  OnDevice operations;
  return serve_requests(std::cin, out, operations) ? 0 : 1;
}

}  // namespace rooftile
