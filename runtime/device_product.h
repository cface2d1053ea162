// One product of operands in host memory on its way over a device: there, computed, and back. In
// phases, so that one product's operands can be on their way while the device computes another.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/context.h"
#include "runtime/kernel.h"
#include "runtime/model/calibration.h"
#include "runtime/precision_guard.h"
#include "runtime/staging.h"

namespace rooftile {

/// What the products of one device have in common.
struct DeviceLink {
  std::shared_ptr<Device> device;
  const DeviceProfile& profile;  // as it was when the device was tuned
  const DeviceRates& rates;
  BufferPool& pool;
  std::atomic<std::uint64_t>& imports;  // counts operands whose memory was imported
};

/// As kernels get it: staged copies have padded rows, and alpha == 0 must not read A and B, so that
/// the staged product has no depth then.
Problem effective(const Problem& p);

/// How a product of this call is going to bind its operands, unless the driver refuses their
/// memory. profile: as the device was opened, because what it can import is not in the database;
/// rates as in DeviceLink; the variant is legal for effective(call.problem). Reads no memory of the
/// operands.
BoundOperands bound_operands(const GemmCall& call, const Variant& variant,
                             const DeviceProfile& profile, const DeviceRates& rates);

/// Not thread-safe. The phases are called once each, in this order. Any of them throws kDevice,
/// kTimeout, kOutOfMemory or kUnsupported, which ends the product: C is untouched then, unless the
/// device was to write the caller's memory itself (transfers()), which it does only if beta is 0.
class DeviceProduct {
 public:
  /// A, B and what belongs to them are copied to where the device sees them, or imported; nothing
  /// runs yet. C is not read: it may be the result of the product before. With a check the caller's
  /// C is written in collect() only. The call's operands, and what is referred to, must outlive
  /// this.
  DeviceProduct(const DeviceLink& link, std::shared_ptr<const Kernel> kernel, double expected_ns,
                const GemmCall& call, const SpotCheck* check = nullptr);
  /// Waits until the device touches nothing of it any more: the memory is the caller's again. If it
  /// is_to_be_outlasted(), that ends when the driver says so, which it may never do.
  ~DeviceProduct();
  DeviceProduct(const DeviceProduct&) = delete;
  DeviceProduct& operator=(const DeviceProduct&) = delete;

  /// Reads C, if beta asks for it, and starts.
  void submit();
  /// kTimeout, after a hundred times the predicted time and 10 s at least for each submission: the
  /// device is given up, for all.
  void wait();
  /// C is written, unless the check finds something, which is returned.
  std::optional<Mismatch> collect();

  const GemmCall& call() const;
  /// Whether the device works in imported memory at the moment: after a failure, when it has been
  /// given up or is about to be.
  bool is_to_be_outlasted() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
