// Context: database, tier choice and execution of calls. This is what the C ABI opens, in C++ with
// exceptions and row-major only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/problem.h"
#include "runtime/call/call.h"
#include "runtime/dispatch/context_options.h"
#include "runtime/dispatch/explanation.h"
#include "runtime/execute/device_tier_state.h"
#include "runtime/model/dispatch.h"

namespace rooftile {

class Resident;
struct GroupedCall;
struct PackRequest;
struct PlainCall;

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
  /// Explains a call that was answered: with its guard, and the kernel and shares that it had.
  Explanation explain_answer(const Answer& answer) const;
  /// Returns the model's decision alone, without regard to forced tiers.
  Decision decide(const Problem& p, const Residencies& where = {}) const;
  Decision decide(const OperationCall& operation) const;
  /// Returns the tier of decide() at the cost that gemm() has for a problem that is new to its
  /// thread.
  Tier predicted_tier(const Problem& p);
  const DispatchModel& model() const;
  const std::string& device_name() const;  ///< Name of the tuned device, "" when there is none.
  /// Whether a device that is not tuned is predicted by what other machines measured of it.
  bool expects_device() const;
  const std::string& note() const;  ///< Why there is no tuned device, "" when there is one.
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
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
