// A tuned device and its kernels as calls on host memory use them: opened, compiled and run once by
// the thread that waits for them or by a background thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/device_profile.h"
#include "core/error.h"
#include "runtime/kernel/kernel.h"
#include "runtime/tuned/kernel_cache.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

/// Thread-safe. No lock is held while the device is opened or a kernel compiled. In a forked child
/// the device is gone.
class DeviceKernels {
  struct Impl;

 public:
  /// `profile` is the device as it was when it was tuned, `compiled` gets its kernels. The
  /// constructor opens nothing.
  DeviceKernels(DeviceProfile profile, std::shared_ptr<KernelCache> compiled);
  /// Waits for compilation in the background.
  ~DeviceKernels();

  const std::shared_ptr<KernelCache>& cache() const;

  /// Returns the device, and opens it if necessary. Throws kDevice when it is absent, changed or
  /// gone; kOutOfMemory, after which the caller may try again.
  std::shared_ptr<Device> device();

  /// Describes how the call that needs a kernel binds its operands on this device. It is called
  /// only if the kernel is compiled, possibly in the background.
  using Bound = std::function<BoundOperands(const DeviceProfile&)>;

  /// Returns the kernel, and compiles it if necessary. Null when it has failed in this process.
  /// Throws what device() throws, also when the device is lost meanwhile, and compile errors, which
  /// count as a failure unless they are kOutOfMemory.
  std::shared_ptr<const Kernel> kernel(const CandidateRecord& candidate, const Signature& signature,
                                       const Bound& bound);

  /// Returns whether the best of these kernels that has not failed can run at once, or none of them
  /// can ever run. Otherwise starts opening and compiling in the background. The candidates must
  /// outlive this object.
  bool ready(std::span<const RankedChoice> choices, const Signature& signature, const Bound& bound);

  /// Lease on the quick kernel that serves a call while the best kernel compiles in the
  /// background: nothing is compiled on the device's queue until the lease ends. Must not outlive
  /// this object.
  class Lease {
   public:
    explicit Lease(Impl& of) : of_(&of) {}
    Lease(Lease&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();

   private:
    Impl* of_;
  };
  /// Kernel that a call should use next.
  struct Next {
    bool best = false;                    ///< Use the best kernel, whether or not it is ready.
    const RankedChoice* quick = nullptr;  ///< Otherwise use this quick kernel, if it is not null.
    std::optional<Lease> lease = {};      ///< Lease on the quick kernel.
  };
  enum class Awaits : std::uint8_t { kNothing, kFirst };
  /// Chooses the best kernel if ready() would return true, or a quick kernel (quick_kernel) if that
  /// is ready and no other compilation is in the way. Otherwise it starts opening and compiling in
  /// the background, the quick kernel first, and chooses neither or, with kFirst, waits for the
  /// first of the two; the best one is then also chosen where it has no quick substitute, or that
  /// has failed.
  Next next(std::span<const RankedChoice> choices, const Signature& signature, const Bound& bound,
            double margin_ns, Awaits awaits);

  /// Returns whether the device is gone, possibly because of this error of work on it. No thread
  /// then waits for its kernels any more.
  bool is_gone_after(const Error& error);

  /// Marks the kernel as unusable, unless the error is a lack of memory or a lost device
  /// (KernelCache::reject_after). Returns false when no other kernel is worth trying.
  bool reject_after(const CandidateRecord& candidate, const Error& error);

  /// Report on stderr, once each, that the host computes instead of the device: because the device
  /// is gone, or because it had no memory. Silent in a forked child, which never has a device.
  void warn_gone() noexcept;
  void warn(const Error& error) noexcept;

  bool opened() const;
  std::string gone() const;  ///< Why the device is never tried again; "" when it may be.
  std::string last_failure() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
