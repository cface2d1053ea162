// A tuned device and its compiled kernels: opened and compiled once each, by the thread that waits
// for them or by one in the background.
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
#include "runtime/kernel.h"
#include "runtime/kernel_ranking.h"

namespace rooftile {

/// Opens the device of this profile. Throws kDevice when it is absent or changed, or when the
/// process is ending; what Device::open throws.
std::shared_ptr<Device> open_tuned_device(const DeviceProfile& profile,
                                          const std::filesystem::path& cache_folder);

/// Thread-safe. No lock is held while something is opened or compiled. In a process forked from one
/// that has used it, the device is gone.
class DeviceKernels {
  struct Impl;

 public:
  /// profile: as it was when the device was tuned. Nothing is opened here.
  DeviceKernels(DeviceProfile profile, std::filesystem::path cache_folder);
  /// Waits for what is being compiled in the background.
  ~DeviceKernels();

  /// Opens it if need be. Throws kDevice when it is absent, changed, or gone; kOutOfMemory, after
  /// which it may be tried again.
  std::shared_ptr<Device> device();

  /// How the product that wants a kernel binds its operands on this device; asked only if the
  /// kernel is compiled, maybe in the background.
  using Bound = std::function<BoundOperands(const Variant&, const DeviceProfile&)>;

  /// Compiles it if need be. Null when it has failed in this process. Throws what device() throws,
  /// also when the device goes meanwhile, and what compiling throws, which is a failure unless it
  /// is kOutOfMemory.
  std::shared_ptr<const Kernel> kernel(const CandidateRecord& candidate, const Signature& signature,
                                       const Bound& bound);

  /// Whether the best of these kernels that has not failed can run at once, or nothing more can
  /// become of them. Else it will, soon: they are opened and compiled in the background. The
  /// candidates must outlive this object.
  bool ready(std::span<const RankedChoice> choices, const Signature& signature, const Bound& bound);

  /// A product's leave to run with a quick kernel: nothing is compiled in the device's queue before
  /// it is given back. Must not outlive this object.
  class Leave {
   public:
    explicit Leave(Impl& of) : of_(&of) {}
    Leave(Leave&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Leave& operator=(Leave&&) = delete;
    ~Leave();

   private:
    Impl* of_;
  };
  /// With which of a product's kernels to go on.
  struct Next {
    bool best = false;                    // the best one, whether it is ready or not
    const RankedChoice* quick = nullptr;  // else this one of those that were asked about, if any
    std::optional<Leave> leave = {};      // of the quick one
  };
  /// The best one if ready() would be true; else a quick one (quick_kernel) if that is ready, and
  /// no other compiling in the way. Else neither will wait long: they are opened and compiled in
  /// the background, the quick one first.
  Next next(std::span<const RankedChoice> choices, const Signature& signature, const Bound& bound,
            double margin_ns);
  /// The same for who waits. The best one only if it is ready, there is no quick one for it, or
  /// that has failed.
  Next wait_for_next(std::span<const RankedChoice> choices, const Signature& signature,
                     const Bound& bound);

  /// Whether the device is gone, maybe by this error that something on it has ended with: then
  /// nobody waits for its kernels any more.
  bool found_gone(const Error& error);

  /// The kernel is not used any more, unless there was no memory or the device is lost; said once.
  /// False when no other kernel is worth trying.
  bool passed_over(const CandidateRecord& candidate, const Error& error);

  bool any_failed() const;  // takes no lock
  bool all_failed(std::span<const RankedChoice> choices) const;

  /// Say on stderr that the host computes in the device's place, once each: because the device is
  /// gone, or because it had no memory. Silent in a forked child, which never has a device.
  void say_gone() noexcept;
  void say(const Error& error) noexcept;

  bool opened() const;
  std::string gone() const;  // why the device is never tried again; "" when it is
  std::string last_failure() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
