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
#include "runtime/tuned/kernel_ranking.h"
#include "runtime/tuned/on_demand_kernels.h"
#include "runtime/tuned/recent_rankings.h"
#include "runtime/verify/precision_guard.h"

namespace rooftile {

/// Whether kernels get staged copies of a call's matrices, in which every row starts at a whole
/// vector.
enum class StagedCopies : std::uint8_t { kNo, kYes };

/// How a device computes a problem.
enum class Means : std::uint8_t {
  kNone,
  kTuned,       // kernels that the tuner measured on the problem's class
  kCertified,   // variants of another class's kernels, certified on demand
  kHostPass,    // a tuned plain kernel, and a pass of the host over C
  kDevicePass,  // the same with a pass of the device (runtime/tuned/device_pass.h)
};
std::string_view name(Means means);  // "", "tuned", "certified", "host_pass", "device_pass"

/// Thread-safe. Calls copy their operands beside each other, and the device computes one at a time.
/// The call that finds that a device hangs gives the device up. Other calls are told at once, even
/// while that call still has to wait (DeviceProduct).
class DeviceTier {
 public:
  /// `profile` is the device as it was when it was tuned. `on_demand` provides kernels of untuned
  /// classes; null: none. `host_gbps` is the bandwidth of host memory in GB/s, which predicts the
  /// host's passes; 0: unknown. The constructor opens nothing.
  DeviceTier(DeviceProfile profile, DeviceRates rates, KernelRanking ranking,
             std::filesystem::path cache_folder,
             std::shared_ptr<OnDemandKernels> on_demand = nullptr, double host_gbps = 0);

  const DeviceProfile& profile() const { return profile_; }
  const KernelRanking& ranking() const { return ranking_; }
  const std::shared_ptr<OnDemandKernels>& on_demand() const { return on_demand_; }

  /// Returns the device, and opens it if necessary. Throws kDevice when it is absent, changed or
  /// lost.
  std::shared_ptr<Device> device();

  /// How the device computes the calls of a problem.
  struct Route {
    Means means = Means::kNone;
    Problem problem = {};  // as the kernel gets it: with kHostPass the product before the pass
    double pass_ns = 0;    ///< Predicted, of the host or the device.
    /// With kHostPass, the operands of the pass: operands_of_pass().
    std::string_view pass_over = {};
    /// With kCertified and kDevicePass, best first. Their times include a pass of the device.
    std::vector<RankedChoice> kernels = {};
  };
  /// Chooses tuned kernels if the problem's class has any. Otherwise it chooses certified kernels,
  /// or a plain kernel and the host's pass, whichever is available and predicted to be faster. The
  /// result depends on the database and on what has been certified since.
  Route route(const Problem& p) const;
  /// The same for operands that lie on the device, each at the start of a buffer: certified
  /// kernels, or a plain kernel and the device's pass. kNone: the fallback computes them.
  Route resident_route(const Problem& p) const;
  /// Whether request_kernel() could still lead to a certified kernel for this problem.
  bool may_certify(const Problem& p) const;
  /// Begins to certify a kernel for a problem whose class was not tuned (OnDemandKernels).
  void request_kernel(const Problem& p) const;

  /// Kernels that are legal for the route's staged problem, best first (KernelRanking,
  /// OnDemandKernels).
  std::vector<RankedChoice> ranked(const Route& route) const;
  std::vector<RankedChoice> ranked(const Problem& p) const { return ranked(route(p)); }
  /// Same as above for a call, which may have a packed operand.
  std::vector<RankedChoice> ranked(const GemmCall& call) const;
  /// Same as above where this operand would be packed for each kernel, and the others are staged or
  /// reside on the device.
  std::vector<RankedChoice> ranked_prepacked(const Problem& p, Operand operand,
                                             StagedCopies others) const;
  /// Same as above for operands that reside on the device, each at the start of a buffer.
  std::vector<RankedChoice> ranked_for_resident(const Problem& p) const;
  bool has_class(const Problem& p) const { return ranking_.has_class(p); }
  /// Time, packing included, that the tuner measured on exactly these sizes, if it did.
  std::optional<double> measured_ns(const Problem& p) const;

  /// Why this problem cannot run on the device at all, or an empty reason.
  struct Refusal {
    Veto name = Veto::kNone;
    std::string reason = {};
  };
  Refusal veto(const Problem& p) const;
  /// The rule that forbids the kernels of the problem's class, or the fallback where it has none;
  /// "" where none does.
  std::string why_no_kernel(const Problem& p) const;

  /// Whether all of these kernels have failed, so that none of them is used any more.
  bool all_failed(std::span<const RankedChoice> kernels) const {
    return kernels_.any_failed() && kernels_.all_failed(kernels);
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
  const std::shared_ptr<KernelCache>& kernel_cache() const { return kernels_.cache(); }

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
  /// Whether the class of a staged problem is tuned and has a kernel that is legal for its sizes.
  bool is_tuned(const Problem& staged) const;
  bool is_long(const Problem& p) const;
  /// The plain problem whose sum may be divided where this one's is too long for the driver's loops
  /// (may_divide_k); a pass of the host makes C of it. Nothing where p is that problem, or short.
  std::optional<Problem> dividable(const Problem& p) const;
  /// Kernels of the product before a pass of the host: tuned ones, else certified ones.
  std::vector<RankedChoice> ranked_before_pass(const Problem& plain) const;
  /// The kernels of a part: the whole's first, where it is legal.
  std::vector<RankedChoice> ranked(const Route& route, const Problem* part_of) const;
  std::vector<RankedChoice> recently_ranked(const Problem& staged) const;
  /// Certified kernels of an untuned class; empty when each has failed.
  std::vector<RankedChoice> certified(const Problem& p) const;
  /// Predicted time of the transfers and of the first of these kernels.
  double predicted_ns(const Problem& p, std::span<const RankedChoice> kernels) const;
  Ran gemm_with_pass(const GemmCall& call, const Types& types, Wait wait, double margin_ns,
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
  const KernelRanking ranking_;
  mutable RecentRankings rankings_{ranking_};
  const std::shared_ptr<OnDemandKernels> on_demand_;  ///< Null: no on-demand kernels.
  const double host_gbps_;

  StagingRoom room_;
  std::mutex running_;      ///< Held while the device computes a call or one slice of it.
  std::mutex making_pool_;  ///< Guards pool_ itself.
  std::unique_ptr<BufferPool> pool_;
  std::atomic<const BufferPool*> made_pool_ = nullptr;  ///< Readable without making_pool_.
  std::atomic<std::uint64_t> imports_ = 0;
  DeviceKernels kernels_;
};

}  // namespace rooftile
