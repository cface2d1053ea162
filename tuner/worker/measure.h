// Timing of a kernel on a problem by the device's own clock. Runs in the worker process.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/time_account.h"
#include "runtime/kernel/kernel.h"
#include "runtime/verify/certify.h"
#include "tuner/measure/free_processors.h"
#include "tuner/measure/full_clocks.h"
#include "tuner/measure/processor_time.h"
#include "tuner/measure/steady_samples.h"
#include "tuner/worker/spilled.h"
#include "tuner/worker/timed_operands.h"

namespace rooftile {

/// Samples of a GPU that take less together, with the untimed run, are one submission: submitting
/// and waiting took 0.3 ms each on an H200, ten times as long as most kernels.
inline constexpr double kTogetherNs = 10e6;

/// A call longer than this needs no preceding call to raise the clocks, and one sample of it is as
/// precise as several of a shorter one.
inline constexpr double kLongProductNs = 20e6;

struct TimeRequest {
  Variant variant;
  Problem problem;
  int samples = 3;
  /// A kernel that is estimated to take longer is only probed and gets no samples.
  double limit_ns = std::numeric_limits<double>::infinity();
  /// Compute units of the device: how many tiles it computes at once, for the estimate.
  double compute_units = 1;
  /// Operand sets are rotated until this much memory has been read.
  double rotate_bytes = 0;
  /// kDrop: a kernel with spilled registers is compiled only.
  Spilled spilled = Spilled::kMeasure;
  /// Whether operands are packed before the samples, as for calls with a packed operand. Otherwise
  /// each sample packs first, and the kernel finds in the caches what was just packed.
  bool prepacked = false;
  std::string code = {};  ///< CompileReply::code of the kernel; empty: there is none.
};

struct CompileReply {
  double compile_ns = 0;  ///< Wall time.
  std::string code = {};  ///< Device::take_code(), up to kMostCodeBytes.
};
inline constexpr std::size_t kMostCodeBytes = 1 << 20;

struct TimeReply {
  std::string hash;
  /// One per sample: all gemm steps; empty when the probe exceeded the limit.
  std::vector<double> kernel_ns = {};
  double pack_ns = 0;          ///< Median.
  int retaken = 0, noisy = 0;  ///< Resampled and noisy samples; see steady_samples().
  double compile_ns = 0;   ///< From shader to first finished dispatch, if built in this process.
  double estimate_ns = 0;  ///< Time of the whole call, estimated from its first few tiles.
  /// Statistics of the compiler, as far as the driver provides them.
  std::vector<CompilerStatistic> statistics = {};
  std::optional<std::string> dropped_reason = {};  ///< Why the kernel was compiled only.
  ActivitySeconds seconds = {};                    ///< What the request took, and for what.
};

/// Request to compute a kernel's problem once for each pass of a driver's counters.
struct CountRequest {
  Variant variant;
  Problem problem;
  double rotate_bytes = 0;  ///< Bytes written before each pass, so that caches are cold.
};

/// A longer call is not counted: it is one submission, which must stay below the shortest OS
/// watchdog (2 s) with clocks that counting may have lowered.
inline constexpr double kLongestCountedNs = 0.5e9;

/// Keeps kernels and operands between requests and continues with the next operand set. Not
/// thread-safe. Errors: those of Kernel and Device; kInternal when the result of the measured run
/// is wrong (spot check against float64) or when the run wrote behind C (64 KiB of canaries).
class Measurer {
 public:
  /// free: the processors on which a software device measures where others use some of them; null:
  /// it measures on all, and times are as they come.
  /// clocks: what keeps the device at full clocks; null: the measurer has its own.
  /// as_gpu: a software device is measured as a GPU with memory of its own would be, for tests.
  explicit Measurer(std::shared_ptr<Device> device, std::shared_ptr<FreeProcessors> free = nullptr,
                    std::shared_ptr<FullClocks> clocks = nullptr, bool as_gpu = false);
  ~Measurer();

  TimeReply time(const TimeRequest& request);
  FullClocks& clocks() { return *clocks_; }
  /// Compiles a kernel as time() will, and keeps nothing of it but what the driver keeps. On a
  /// software device, whose driver compiles at the first dispatch, a small problem is computed; on
  /// others nothing runs, because another process may be measuring.
  CompileReply compile(const Variant& variant, const Signature& signature);
  /// Takes a kernel of this device that another thread has compiled; time() then compiles nothing.
  void adopt(std::unique_ptr<Kernel> kernel, const Signature& signature, double compile_ns);
  /// code: CompileReply::code of the kernel; empty: there is none.
  Certificate certify(const Variant& variant, const Signature& signature, const std::string& code);
  /// Requires a device opened with CounterQueries::kOn. Packing is not counted; neither kernel nor
  /// operands are kept. Additional error: kUnsupported (Device::count).
  CounterReadings count(const CountRequest& request);

 private:
  struct Built {
    std::unique_ptr<Kernel> kernel;
    double compile_ns = 0;
    std::vector<CompilerStatistic> statistics = {};
    std::optional<Problem> probed = {};  ///< The last probed problem.
    double estimate_ns = 0;              ///< Estimate for that problem.
    double occupancy = 0;                ///< Maximum over its runs.
    std::uint64_t used = 0;              ///< Number of the last request that used it.
  };
  /// Device times of steps that ran, as on all processors.
  std::vector<double> times_of(std::span<const Step> steps, RunResult result);
  /// Returns the device time of each step, as on all processors. For a software device, adds its
  /// processor time to `used`.
  std::vector<double> timed_run(std::span<const Step> steps, ProcessorTime& used);
  /// Times one call: packing, the gemm steps and the reduction.
  Reading timed_call(Built& built, KernelSteps call);
  /// The same for calls of one submission each, all in one, in which steps that are not timed go
  /// before them. Not for software devices.
  std::vector<Reading> timed_together(std::vector<Step> before, std::vector<KernelSteps> calls);
  TimeReply time_now(const TimeRequest& request);
  /// Calls it, and once more without the operands of other problems where memory has run out.
  template <typename Call>
  auto with_room(Call&& call);
  Built& slot(const Variant& variant, const Signature& signature);
  Built& build(const Variant& variant, const Signature& signature);
  /// Kernel::plan, or Kernel::plan_grouped for the typical sizes of a grouped problem, whose
  /// operands are prepared.
  GemmPlan plan_of(const Kernel& kernel, const Problem& p, const Placement& placement,
                   double max_flops = std::numeric_limits<double>::infinity());
  void probe(Built& built, const Problem& p, const Operands& operands, const Workspace& workspace,
             double compute_units);

  std::shared_ptr<Device> device_;
  const bool software_;
  std::shared_ptr<FreeProcessors> free_;
  std::shared_ptr<FullClocks> clocks_;
  ShaderCache cache_;
  std::unordered_map<std::string, Built> built_;  ///< Keyed by variant and signature text.
  std::uint64_t requests_ = 0;
  TimedOperands operands_;
  std::size_t turn_ = 0;  ///< Operand set of the last run.
  RetakeAllowance retakes_;
  TimeAccount spent_;  ///< Of the last request.
};

}  // namespace rooftile
