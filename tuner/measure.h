// Times a kernel on a problem with the device's own clock. Runs in the worker process.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/certify.h"
#include "runtime/kernel.h"
#include "tuner/processor_time.h"
#include "tuner/spilled.h"
#include "tuner/steady_samples.h"

namespace rooftile {

/// A product longer than this needs no other one before it to wake clocks, and a sample of it says
/// as much as several of a shorter one.
inline constexpr double kLongProductNs = 50e6;

struct TimeRequest {
  Variant variant;
  Problem problem;
  int samples = 3;
  double limit_ns =
      std::numeric_limits<double>::infinity();  // estimated beyond this: probed only, no samples
  double compute_units = 1;  // of the device: how many tiles it works on at once, for the estimate
  double rotate_bytes =
      0;  // operand sets are rotated until this much memory has been walked through
  Spilled spilled = Spilled::kMeasure;  // kDrop: such a kernel is compiled only
};

struct TimeReply {
  std::string hash;
  std::vector<double> kernel_ns =
      {};              // one per sample: all gemm steps; empty when the probe was beyond the limit
  double pack_ns = 0;  // median
  int retaken = 0, noisy = 0;  // steady_samples()
  double compile_ns = 0;   // shader to first finished dispatch, when it was built in this process
  double estimate_ns = 0;  // of the whole product, from its first few tiles
  std::vector<CompilerStatistic> statistics = {};  // of the compiler, as far as the driver tells
  std::optional<std::string> dropped_reason = {};  // why it was compiled only
};

/// A kernel's problem computed once for each pass of a driver's counters.
struct CountRequest {
  Variant variant;
  Problem problem;
  double rotate_bytes = 0;  // of memory are written before each pass, so that caches are cold
};

/// A product longer than this is not counted: it is one submission, which must stay under the
/// shortest OS watchdog (2 s) with clocks that counting may have lowered.
inline constexpr double kLongestCountedNs = 0.5e9;

/// How many sets of a staged problem's operands a Measurer rotates over.
std::size_t operand_sets(const Problem& staged, double rotate_bytes);

/// Keeps kernels and operands between requests, and goes on with the next set. Not thread-safe.
/// Errors: those of Kernel and Device; kInternal when the result of the measured run is wrong (spot
/// check against float64).
class Measurer {
 public:
  explicit Measurer(std::shared_ptr<Device> device);
  ~Measurer();

  TimeReply time(const TimeRequest& request);
  Certificate certify(const Variant& variant, const Signature& signature);
  /// Of a Measurer whose device was opened with CounterQueries::kOn. Packing is not counted; keeps
  /// neither kernel nor operands. Errors besides the others: kUnsupported (Device::count).
  CounterReadings count(const CountRequest& request);

 private:
  struct OperandSet;
  struct Built {
    std::unique_ptr<Kernel> kernel;
    double compile_ns = 0;
    std::vector<CompilerStatistic> statistics = {};
    std::optional<Problem> probed = {};  // last one
    double estimate_ns = 0;              // of that problem
    double occupancy = 0;                // the most of any run of it
    std::uint64_t used = 0;              // when last, in requests
  };
  /// Device time by step. Of a software device, what it took of the processors is added to used.
  std::vector<double> timed_run(const std::vector<Step>& steps, ProcessorTime& used);
  Buffer buffer_of(const std::vector<char>& content) const;  // none for nothing
  Built& build(const Variant& variant, const Signature& signature);
  /// Of the set whose turn it is. A staged problem's.
  Operands operands_of(std::size_t turn, const Placement& placement) const;
  void probe(Built& built, const Problem& p, const Operands& operands, const Workspace& workspace,
             double compute_units);
  void prepare_operands(const Problem& p, double rotate_bytes);
  std::string spot_check(const Problem& p, const OperandSet& set) const;

  std::shared_ptr<Device> device_;
  ShaderCache cache_;
  std::unordered_map<std::string, Built> built_;  // by variant and signature text
  std::uint64_t requests_ = 0;
  Problem prepared_;
  std::vector<std::unique_ptr<OperandSet>> sets_;
  std::size_t turn_ = 0;  // set of the last run
  RetakeAllowance retakes_;
};

}  // namespace rooftile
