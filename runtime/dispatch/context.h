// Context: database, tier choice and execution of calls. This is what the C ABI opens, in C++ with
// exceptions and row-major only.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/problem.h"
#include "runtime/call/call.h"
#include "runtime/execute/device_tier_state.h"
#include "runtime/model/dispatch.h"

namespace rooftile {

/// Whether the database counts problems without a tuned bucket.
enum class LogUntuned : std::uint8_t { kYes, kNo };
/// Whether repeated calls are measured and moved to the fastest tier
/// (runtime/dispatch/tier_times.h).
enum class MeasureCalls : std::uint8_t { kYes, kNo };
class Device;
class Resident;
struct GroupedCall;
struct PackRequest;
struct PlainCall;

struct ContextOptions {
  std::filesystem::path database;  ///< Empty: default_database_path().
  /// Substring of a name or UUID. Empty: $ROOFTILE_DEVICE, else the best tuned device.
  std::string device;
  bool needs_device = false;       ///< Without a tuned device that matches, kUnsupported is thrown.
  std::optional<TierChoice> tier;  ///< No value: $ROOFTILE_TIER, else auto.
  std::filesystem::path cache_folder;     ///< Empty: default_cache_folder().
  std::optional<LogUntuned> log_untuned;  ///< No value: $ROOFTILE_LOG_UNTUNED, else yes.
  /// No value: $ROOFTILE_MEASURE_CALLS, else yes, but no in a rank of an MPI program.
  std::optional<MeasureCalls> measure_calls;
  std::optional<Deterministic> deterministic;  ///< No value: $ROOFTILE_DETERMINISTIC, else no.
  /// A deterministic context always uses kWait, and so does one of several MPI ranks that says
  /// nothing of `deterministic`.
  WhileCompiling while_compiling = WhileCompiling::kHostAnswers;
  /// Precision of calls that do not set one. No value: $ROOFTILE_PRECISION, else standard.
  std::optional<Precision> precision;
  std::optional<Devices> devices = {};  ///< No value: $ROOFTILE_DEVICES, else one.
  /// Split calls even where that is not predicted to be faster, and on no account leave a split
  /// that is not: for benches that show what a split costs.
  bool split_always = false;
  /// Device of the program, or null. resident() then runs on it, and only kernels that were tuned
  /// for the same device are used.
  std::shared_ptr<Device> adopted = nullptr;
};

/// How a call would be split over several devices and the host (docs/several-devices.md).
struct SplitExplanation {
  double ns = 0;            ///< Predicted time of the plan; 0: none was made.
  bool wins = false;        ///< Calls follow the plan.
  std::string shares = {};  ///< "llvmpipe 1216, host 832 rows", "" when it does not win.
  std::string reason = {};  ///< Why, or why not; "" where it was not asked for.
};

struct Explanation {
  /// Decision of the model, with the tier that sgemm uses (forced tiers included).
  Decision decision;
  bool forced = false;
  bool for_precision = false;  ///< The guard requires the tier HOST64.
  std::string device_name;     ///< Name of the tuned device, "" when there is none.
  std::string kernel;          ///< Text of the variant that would run, "" when there is none.
  /// How that kernel computes the problem: name(Means), "" when there is no kernel.
  std::string means = {};
  /// What a call that is forced to the device does: "runs", "certifies_first" (it waits until a
  /// kernel of its class is certified), "fails"; "" where the device is not forced.
  std::string_view forced_device = {};
  /// Kernel that would run while that one is being compiled, "" when there is none.
  std::string quick_kernel = {};
  /// Explanation for a reader, such as that nothing is tuned or that the driver changed.
  std::string note;
  SplitExplanation split = {};
  /// Times measured on exactly these sizes: kernel and packing by the tuner, BLAS by the
  /// calibration.
  std::optional<double> measured_kernel_ns = {}, measured_host_ns = {}, measured_host1_ns = {};
};

/// Owner of a database view, a device tier and the state of calls. Thread-safe.
class Context {
 public:
  /// Throws kDatabase (file newer than this library, or unreadable), kInvalidArgument (options,
  /// environment), kUnsupported (no BLAS library).
  explicit Context(const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Computes a call. Errors leave C untouched: kInvalidArgument, and for a forced tier only
  /// kUnsupported, kDevice, kTimeout and kOutOfMemory. As an exception, where a forced device
  /// fails, C is undefined if beta is 0 (DeviceProduct), or if the device fails between the slices
  /// of a call that exceeds its buffers.
  ///
  /// A device that is predicted to win is opened, and its kernel compiled, in the background. Until
  /// then a kernel that compiles much faster runs, if it is predicted to win as well; until that is
  /// compiled the host answers. A forced device waits for the first of the two kernels.
  void gemm(const GemmCall& call);
  /// Fast path of gemm(), at the cost of a lookup, for a call that equals one that this thread made
  /// on this context and that the host answered; pointers may differ. Returns false, having done
  /// nothing, when gemm() has to handle the call; gemm() then also reports any errors in it.
  bool gemm_again(const PlainCall& call);
  /// Computes a grouped call. Errors leave C untouched as for gemm(). A call that runs on the
  /// device waits for its kernel; under kAuto the host answers where the device fails.
  void grouped(const GroupedCall& call);
  /// Returns what counts grouped calls on device buffers whose bucket is not tuned. It may be
  /// called by any thread, also after the context's end, when it counts nothing.
  const std::function<void(const Problem&)>& grouped_counter() const;
  Explanation explain(const GemmCall& call, const Residencies& where = {}) const;
  /// Returns the model's decision alone, without regard to forced tiers.
  Decision decide(const Problem& p, const Residencies& where = {}) const;
  Decision decide(const OperationCall& operation) const;
  /// Returns the tier of decide() at the cost that gemm() has for a problem that is new to its
  /// thread.
  Tier predicted_tier(const Problem& p);
  const DispatchModel& model() const;
  const std::string& device_name() const;  ///< Name of the tuned device, "" when there is none.
  const std::string& note() const;         ///< Why there is no tuned device, "" when there is one.
  /// Answer of this thread's last gemm() on this context. No value when that failed or there was
  /// none.
  std::optional<Answer> last_answer() const;
  /// Clears last_answer(), for calls that are refused before they reach gemm().
  static void forget_last_answer();
  DeviceTierState device_state() const;
  /// Writes the counts of untuned problems now. A thread of the context does so regularly.
  void write_counts() noexcept;
  /// Stops counting calls of untuned problems, for programs that repeat a call only to time it.
  void stop_counting();

  /// Waits until no kernel is being certified on demand (runtime/tuned/on_demand_kernels.h), for
  /// tests and for programs whose later calls should use such kernels.
  void wait_for_certificates() const;

  /// Packs A or B of the requested calls into the layouts that the device's kernels read
  /// (runtime/resident/packing.h). Without a device that can compute the calls the result has no
  /// layouts. Throws kInvalidArgument, kOutOfMemory, kDevice.
  std::shared_ptr<const PackedOperand> pack(const PackRequest& request);
  std::uint64_t id() const;  ///< Unique among all contexts of the process.

  /// Returns the device side for data that stays on the device. The first call opens the device.
  /// Throws kUnsupported when there is no device, kDevice.
  std::shared_ptr<Resident> resident();
  /// Null if resident() was never called.
  std::shared_ptr<Resident> opened_resident() const;

 private:
  void gemm_packed(const GemmCall& call);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
