// Kernels of classes (types, transposes, epilogue) that were never tuned here: what other machines
// measured on this product (imported_data.h), variants of the nearest tuned class, and those of
// the tables (generator/priors/default_kernel.h), compiled with the wanted signature and certified
// in the background while other means answer. The certificate is the tuner's
// (runtime/verify/certify.h), and is stored where the tuner stores its own, so that later contexts
// find it.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "core/device_profile.h"
#include "runtime/device/device.h"
#include "runtime/kernel/shader_cache.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

/// Thread-safe. In a process forked from one that has used it, it knows no kernel and certifies
/// none.
class OnDemandKernels {
 public:
  /// open_device gives a device of its own for certificates, so that a kernel that hangs does not
  /// take the one that calls run on. database: empty or missing: nothing is read or stored.
  /// Databases of `shipped_folder()` are read with it, at the first use.
  /// patience: see obtain().
  OnDemandKernels(DeviceProfile profile, std::filesystem::path database,
                  std::filesystem::path cache_folder,
                  std::function<std::shared_ptr<Device>()> open_device,
                  std::chrono::nanoseconds patience = kPatience);
  /// A certificate takes tenths of a second on a GPU, and seconds where a slow compiler has cold
  /// caches. Whoever waits for ten seconds is better off with a slower kernel.
  static constexpr std::chrono::seconds kPatience{10};
  /// Waits for the certification problem that is under way; the rest is dropped.
  ~OnDemandKernels();

  /// Certified kernels of the problem's class that are legal for it, best first, with times that
  /// were measured elsewhere, scaled from those of the nearest tuned class, or estimated. The
  /// candidates live as long as this object. Reads the database at the first call.
  struct Certified {
    std::vector<RankedChoice> kernels = {};
    bool may_improve = false;  ///< A better one for this problem may be certified, or is under way.
  };
  Certified ranked(const KernelRanking& tuned, const Problem& p, const Placement& at,
                   const DeviceLimits& limits) const;

  /// Begins to certify the best kernel for this problem that has not failed, unless it is
  /// certified, another one of its class is under way, or kMostFailures of the class have failed,
  /// counted separately for imported kernels and for others.
  /// Returns whether one of its class is under way.
  bool request(const KernelRanking& tuned, const Problem& p, const Placement& at,
               const DeviceLimits& limits);
  static constexpr int kMostFailures = 3;
  /// Does what request() does until there is nothing left to certify for this problem, and waits
  /// for each: at most `patience` in all, and for none that has been running for longer already. So
  /// a compiler that hangs costs `patience` once, whoever else asks. What is not ready then goes on
  /// in the background, which is said on stderr.
  void obtain(const KernelRanking& tuned, const Problem& p, const Placement& at,
              const DeviceLimits& limits);
  /// Whether request() would begin one, or one is under way.
  bool may_certify(const KernelRanking& tuned, const Problem& p, const Placement& at,
                   const DeviceLimits& limits) const;

  /// Waits until nothing is being certified.
  void wait() const;

  /// Called by the background thread after each kernel that was certified, or found not fit for it:
  /// ranked() and request() may do otherwise from then on. Empty: no longer; a call under way has
  /// then ended.
  void when_changed(std::function<void()> listener);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
