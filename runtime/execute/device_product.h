// Execution of one call on operands in host memory by a device: upload, compute, download. It is
// split into phases, so that one call's operands can be transferred while the device computes
// another call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/call/call.h"
#include "runtime/execute/staged_operand.h"
#include "runtime/kernel/kernel.h"
#include "runtime/verify/precision_guard.h"

namespace rooftile {

/// Returns how this call will bind its operands, unless the driver refuses to import their memory.
/// `profile` describes the device as it was opened, because the database does not record what it
/// can import; `rates` are those of DeviceLink. No operand is read.
BoundOperands bound_operands(const GemmCall& call, const DeviceProfile& profile,
                             const DeviceRates& rates);

/// Not thread-safe. The phases are called once each, in this order. Each of them may throw kDevice,
/// kTimeout, kOutOfMemory or kUnsupported, which ends the call. C is then untouched, unless the
/// device was to write to the caller's memory directly (transfers()), which it does only if beta is
/// 0.
class DeviceProduct {
 public:
  /// Copies A, B and their scales to memory that the device sees, or imports their memory; nothing
  /// runs yet. C is not read, because it may be the result of the preceding call. With a check the
  /// caller's C is written only in collect(). The call's operands and all referenced objects must
  /// outlive this object.
  DeviceProduct(const DeviceLink& link, std::shared_ptr<const Kernel> kernel, double expected_ns,
                const GemmCall& call, const SpotCheck* check = nullptr);
  /// Waits until the device no longer touches the operands. If must_wait_for_device(), that wait
  /// ends when the driver reports completion, which may never happen.
  ~DeviceProduct();
  DeviceProduct(const DeviceProduct&) = delete;
  DeviceProduct& operator=(const DeviceProduct&) = delete;

  /// Reads C if beta requires it.
  void read_c();
  /// Submits the work.
  void submit();
  /// Waits for the result. Throws kTimeout after 100 times the predicted time, and not before 10 s,
  /// for each submission; the device is then given up for all users.
  void wait();
  /// Writes C, unless the check finds a mismatch, which is returned.
  std::optional<Mismatch> collect();

  const GemmCall& call() const;
  /// Whether the device is using imported memory now: after a failure, when the device has been
  /// given up or is about to be.
  bool must_wait_for_device() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
