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
#include "runtime/context.h"
#include "runtime/device_kernels.h"
#include "runtime/device_product.h"
#include "runtime/kernel_ranking.h"
#include "runtime/on_demand_kernels.h"
#include "runtime/precision_guard.h"
#include "runtime/staging.h"

namespace rooftile {

/// Whether kernels get copies of a call's matrices, in which every row begins at a whole vector.
enum class StagedCopies : std::uint8_t { kNo, kYes };

/// What computes a problem on a device.
enum class Means : std::uint8_t {
  kNone,
  kTuned,      // kernels that the tuner measured on the problem's class
  kCertified,  // variants of another class's kernels, certified on demand
  kHostPass,   // a tuned plain kernel, and a pass of the host over C
};
std::string_view name(Means means);  // "", "tuned", "certified", "host_pass"

/// Thread-safe; products run one at a time. A device that hangs is given up by the call that finds
/// it out, and others are told so at once, whatever that call has still to wait for
/// (DeviceProduct).
class DeviceTier {
 public:
  /// profile: as it was when the device was tuned. on_demand: kernels of classes that were not
  /// tuned; null: none. host_gbps: of the host's memory, which predicts its passes; 0: not known.
  /// Nothing is opened here.
  DeviceTier(DeviceProfile profile, DeviceRates rates, KernelRanking ranking,
             std::filesystem::path cache_folder,
             std::shared_ptr<OnDemandKernels> on_demand = nullptr, double host_gbps = 0);

  const DeviceProfile& profile() const { return profile_; }
  const KernelRanking& ranking() const { return ranking_; }
  const std::shared_ptr<OnDemandKernels>& on_demand() const { return on_demand_; }

  /// Opens it if need be. Throws kDevice when it is absent, changed or lost.
  std::shared_ptr<Device> device();

  /// How the calls of a problem are computed here.
  struct Route {
    Means means = Means::kNone;
    Problem problem = {};  // as the kernel gets it: with kHostPass the product before the pass
    double pass_ns = 0;    // of the host, predicted
    std::vector<RankedChoice> certified = {};  // with kCertified, best first
  };
  /// Tuned kernels if the problem's class has any; else certified ones, or a plain kernel and the
  /// host's pass, whichever is there and predicted to be faster. Depends on the database, and on
  /// what has been certified since.
  Route route(const Problem& p) const;
  /// The same for operands that lie on the device, behind which the host makes no pass.
  Means means_for_resident(const Problem& p) const;
  /// Begins to certify a kernel for a problem whose class was not tuned (OnDemandKernels).
  void request_kernel(const Problem& p) const;

  /// Kernels that are legal for the route's problem as it would be staged, best first
  /// (KernelRanking, OnDemandKernels).
  std::vector<RankedChoice> ranked(const Route& route) const;
  std::vector<RankedChoice> ranked(const Problem& p) const { return ranked(route(p)); }
  /// The same for a call, of which an operand may be packed.
  std::vector<RankedChoice> ranked(const GemmCall& call) const;
  /// The same where this operand would be packed for each kernel, and the others are staged or lie
  /// on the device.
  std::vector<RankedChoice> ranked_prepacked(const Problem& p, Operand operand,
                                             StagedCopies others) const;
  /// The same for operands that lie on the device, each at the start of a buffer.
  std::vector<RankedChoice> ranked_for_resident(const Problem& p) const;
  /// What the tuner measured on exactly these sizes, packing included; nothing when it did not.
  std::optional<double> measured_ns(const Problem& p) const;

  /// Why this product cannot run here at all, or an empty reason.
  struct Refusal {
    Veto name = Veto::kNone;
    std::string reason = {};
  };
  Refusal veto(const Problem& p) const;

  /// Whether the device's memory and its buffers hold the operands, of so many products at a time.
  bool fits(const Problem& p, int products = 1) const;
  /// Why not, or "".
  std::string does_not_fit(const Problem& p) const;

  /// A spot check did not like the result of a kernel; C is untouched.
  class SpotCheckFailed : public Error {
   public:
    SpotCheckFailed(Mismatch mismatch, std::string hash)
        : Error(ErrorCode::kDevice, "spot check: " + mismatch.what),
          wrong_(mismatch.wrong),
          hash_(std::move(hash)) {}
    bool wrong() const { return wrong_; }  // else only short of the precision that was asked for
    const std::string& hash() const { return hash_; }

   private:
    bool wrong_;
    std::string hash_;
  };

  /// What a product waits for where its best kernel has yet to be compiled, or the device opened:
  /// that kernel; the first that is there, it or a quick one (quick_kernel); or nothing, so that
  /// threads in the background begin with both, and the product runs only if the quick one is
  /// there.
  enum class Wait : std::uint8_t { kBest, kFirst, kNo };

  /// What a product ran with.
  struct Ran {
    const Variant* kernel = nullptr;  // null: it has not run
    bool best = false;                // of those that work; else a quick one
    explicit operator bool() const { return kernel != nullptr; }
  };

  /// Compiles a certified kernel that is going to be used. As DeviceKernels::kernel.
  std::shared_ptr<const Kernel> kernel(const CandidateRecord& candidate,
                                       const Signature& signature);

  /// Runs the product with the first kernel that works; C is written only on success. It has not
  /// run with Wait::kNo only. margin_ns: by how much a quick kernel
  /// may take longer than the best one. Throws the last failure when no kernel works: kDevice,
  /// kTimeout, kOutOfMemory, kUnsupported, kCompile. With a check, whose failure is not followed by
  /// another kernel: SpotCheckFailed.
  /// A problem that nothing here computes yet waits for a kernel that is certified on demand,
  /// unless with Wait::kNo.
  Ran gemm(const GemmCall& call, Wait wait = Wait::kBest,
           double margin_ns = std::numeric_limits<double>::infinity(),
           const SpotCheck* check = nullptr);

  /// That runs while the best one of the problem is compiled, as far as is known before either is;
  /// null when there is none. Pure.
  const Variant* quick_kernel(const Problem& p, double margin_ns) const;

  /// What has become of products in turn: the C of those behind the last one that is done are
  /// untouched, or not needed (DeviceProduct).
  struct InTurn {
    std::size_t done = 0;
    std::optional<Error> gone = {};  // with which the device has ended them
  };
  /// Products of which each fits beside another one, in their order: one's operands are on their
  /// way while the one before is computed. Ends at the first that cannot be done at once, or fails.
  InTurn gemm_in_turn(std::span<const GemmCall> calls, WhileCompiling what);

  bool opened() const { return kernels_.opened(); }
  DeviceState state() const;

  /// Say on stderr, once each, why the host computes instead (DeviceKernels).
  void say_gone() noexcept { kernels_.say_gone(); }
  void say(const Error& error) noexcept { kernels_.say(error); }

 private:
  /// Of a class that was not tuned; none when each has failed.
  std::vector<RankedChoice> certified(const Problem& p) const;
  /// Transfers and the first of these kernels.
  double predicted_ns(const Problem& p, std::span<const RankedChoice> kernels) const;
  Ran gemm_with_pass(const GemmCall& call, const Types& types, Wait wait, double margin_ns,
                     const SpotCheck* check);
  /// With the first of these kernels that works. before_run is called once or more before it runs.
  Ran run_first(const GemmCall& call, std::span<const RankedChoice> kernels, Wait wait,
                double margin_ns, const SpotCheck* check,
                const std::function<void()>& before_run = {});
  void run(const RankedChoice& choice, std::shared_ptr<const Kernel> kernel, const GemmCall& call,
           const SpotCheck* check);
  struct Chosen {
    std::shared_ptr<const Kernel> kernel =
        nullptr;  // the best that can be had; null: none is ready
    double expected_ns = 0;
  };
  Chosen choose(const GemmCall& call, Wait wait);
  DeviceKernels::Bound bound_like(const GemmCall& call) const;
  DeviceLink link();  // running_ is held
  /// Of a product that has failed and ends later, without running_: what it tells of the device,
  /// for all who wait for that.
  void note(const Error& error, const DeviceProduct* product);

  const DeviceProfile profile_;
  const DeviceRates rates_;
  const KernelRanking ranking_;
  const std::shared_ptr<OnDemandKernels> on_demand_;  // null: none
  const double host_gbps_;

  std::mutex running_;  // for as long as a product runs
  std::unique_ptr<BufferPool> pool_;
  std::atomic<const BufferPool*> made_pool_ = nullptr;  // for who only asks
  std::atomic<std::uint64_t> imports_ = 0;
  DeviceKernels kernels_;
};

}  // namespace rooftile
