// The device tier: a tuned device, opened when the first call needs it, and its ranked kernels.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/error.h"
#include "runtime/call/call.h"
#include "runtime/execute/device_kernels.h"
#include "runtime/execute/device_product.h"
#include "runtime/execute/device_tier_state.h"
#include "runtime/execute/staging_room.h"
#include "runtime/kernel/staging.h"
#include "runtime/tuned/kernel_chooser.h"
#include "runtime/verify/precision_guard.h"

namespace rooftile {

/// Thread-safe. Calls copy their operands beside each other, and the device computes one at a time.
/// The call that finds that a device hangs gives the device up. Other calls are told at once, even
/// while that call still has to wait (DeviceProduct).
class DeviceTier {
 public:
  /// The arguments are those of KernelChooser. The constructor opens nothing.
  DeviceTier(DeviceProfile profile, DeviceRates rates, KernelRanking ranking,
             std::filesystem::path cache_folder,
             std::shared_ptr<OnDemandKernels> on_demand = nullptr, double host_gbps = 0);

  const DeviceProfile& profile() const { return profile_; }
  /// Which kernels compute a problem. Calls on device buffers share it.
  const std::shared_ptr<const KernelChooser>& chooser() const { return chooser_; }

  /// Returns the device, and opens it if necessary. Throws kDevice when it is absent, changed or
  /// lost.
  std::shared_ptr<Device> device();

  /// Why this problem cannot run on the device at all, or an empty reason.
  struct Refusal {
    Veto name = Veto::kNone;
    std::string reason = {};
  };
  Refusal veto(const Problem& p) const;
  /// Whether all of these kernels have failed, so that none of them is used any more.
  bool all_failed(std::span<const RankedChoice> kernels) const {
    return rooftile::all_failed(*compiled_, kernels);
  }

  /// Whether the device's memory and buffers hold the operands of `products` calls at a time.
  bool fits(const Problem& p, int products = 1) const;
  /// Why the operands do not fit, or "".
  std::string does_not_fit(const Problem& p) const;

  /// Thrown when a spot check rejects the result of a kernel; C is untouched.
  class SpotCheckFailed : public Error {
   public:
    SpotCheckFailed(Mismatch mismatch, std::string hash)
        : Error(ErrorCode::kDevice, "spot check: " + mismatch.what),
          wrong_(mismatch.wrong),
          hash_(std::move(hash)) {}
    /// False: the result is only less accurate than requested.
    bool wrong() const { return wrong_; }
    const std::string& hash() const { return hash_; }

   private:
    bool wrong_;
    std::string hash_;
  };

  /// What a call waits for when its best kernel is not compiled yet, or the device not open:
  /// - kBest: the best kernel.
  /// - kFirst: the best kernel or a quick one (quick_kernel), whichever is ready first.
  /// - kNo: nothing. Background threads start on both, and the call runs only if the quick kernel
  ///   is ready.
  enum class Wait : std::uint8_t { kBest, kFirst, kNo };

  /// Kernel that a call ran with.
  struct Ran {
    const Variant* kernel = nullptr;  ///< Null: the call has not run.
    bool best = false;                ///< The best kernel that works; otherwise a quick one.
    explicit operator bool() const { return kernel != nullptr; }
  };

  /// Compiles a certified kernel that will be used. Same contract as DeviceKernels::kernel.
  std::shared_ptr<const Kernel> kernel(const CandidateRecord& candidate,
                                       const Signature& signature);

  /// The device's compiled kernels. Calls on device buffers share them.
  const std::shared_ptr<KernelCache>& kernel_cache() const { return compiled_; }

  /// Runs the call with the first kernel that works, and writes C only on success. Only with
  /// Wait::kNo may it return without running. margin_ns is how much longer a quick kernel may take
  /// than the best one. A problem without a kernel waits for one to be certified on demand, unless
  /// with Wait::kNo.
  ///
  /// Throws the last failure when no kernel works: kDevice, kTimeout, kOutOfMemory, kUnsupported,
  /// kCompile. A failed check throws SpotCheckFailed; no other kernel is tried then.
  ///
  /// part_of: the problem of which the call is a part, or null (PartKernel).
  Ran gemm(const GemmCall& call, Wait wait = Wait::kBest,
           double margin_ns = std::numeric_limits<double>::infinity(),
           const SpotCheck* check = nullptr, const Problem* part_of = nullptr);

  /// Kernel of the parts of a problem that is split: the best one for the whole, whose time is
  /// known best, and which stays the same when the shares change.
  struct PartKernel {
    const CandidateRecord* candidate = nullptr;  ///< Null: each part has its own.
    double whole_ns = 0;                         ///< Expected for the whole problem.
  };
  PartKernel part_kernel(const Problem& whole) const;
  /// Its expected time for a part; nothing where it is not legal for that.
  std::optional<double> part_kernel_ns(const PartKernel& kernel, const Problem& whole,
                                       const Problem& part) const;

  /// Whether the call would run at once on its best kernel. Otherwise starts opening the device and
  /// compiling in the background, or nothing where no kernel can ever run it.
  bool ready(const GemmCall& call, const Problem* part_of = nullptr);

  /// Kernel that runs while the problem's best one is compiled, as far as is known before either is
  /// compiled; null when there is none. Has no side effects.
  const Variant* quick_kernel(const Problem& p, double margin_ns) const;

  /// Result of gemm_in_turn. The C of calls after the last completed one is untouched, or not
  /// needed (DeviceProduct).
  struct InTurn {
    std::size_t done = 0;
    std::optional<Error> gone = {};  ///< Error of the device that ended the calls.
  };
  /// Runs calls in order, uploading the operands of one while its predecessor is computed. Any two
  /// consecutive calls fit the device together. Stops at the first call that cannot run at once, or
  /// fails.
  InTurn gemm_in_turn(std::span<const GemmCall> calls, WhileCompiling what);

  bool opened() const { return kernels_.opened(); }
  DeviceTierState state() const;

  /// Report on stderr, once each, why the host computes instead (DeviceKernels).
  void warn_gone() noexcept { kernels_.warn_gone(); }
  void warn(const Error& error) noexcept { kernels_.warn(error); }

 private:
  /// The kernels of a part: the whole's first, where it is legal.
  std::vector<RankedChoice> ranked(const KernelChoice& choice, const Problem* part_of) const;
  Ran gemm_with_pass(const GemmCall& call, KernelChoice choice, Wait wait, double margin_ns,
                     const SpotCheck* check);
  /// Runs the call with the first of these kernels that works. before_run is called at least once
  /// before the kernel runs.
  Ran run_first(const GemmCall& call, std::span<const RankedChoice> kernels, Wait wait,
                double margin_ns, const SpotCheck* check,
                const std::function<void()>& before_run = {});
  void run(const RankedChoice& choice, const std::shared_ptr<const Kernel>& kernel,
           const GemmCall& call, const SpotCheck* check);
  struct Chosen {
    /// The best available kernel; null: none is ready.
    std::shared_ptr<const Kernel> kernel = nullptr;
    double expected_ns = 0;
  };
  Chosen choose(const GemmCall& call, Wait wait);
  DeviceKernels::Bound bound_like(const GemmCall& call) const;
  DeviceLink link();
  /// Records what the error of a failed call that ends later, without running_, tells about the
  /// device, for all threads that wait for the device.
  void note(const Error& error, const DeviceProduct* product);

  const DeviceProfile profile_;
  const DeviceRates rates_;
  const std::shared_ptr<KernelCache> compiled_;

  StagingRoom room_;
  std::mutex running_;      ///< Held while the device computes a call or one slice of it.
  std::mutex making_pool_;  ///< Guards pool_ itself.
  std::unique_ptr<BufferPool> pool_;
  std::atomic<const BufferPool*> made_pool_ = nullptr;  ///< Readable without making_pool_.
  std::atomic<std::uint64_t> imports_ = 0;
  // Compilation in the background, for whose end kernels_ waits, uses candidates of the chooser.
  const std::shared_ptr<const KernelChooser> chooser_;
  DeviceKernels kernels_;
};

}  // namespace rooftile
