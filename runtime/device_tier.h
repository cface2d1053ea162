// The device tier: a tuned device, opened when the first call needs it, and its ranked kernels.
#pragma once

#include <atomic>
#include <filesystem>
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
#include "runtime/precision_guard.h"
#include "runtime/staging.h"

namespace rooftile {

/// Whether kernels get copies of a call's matrices, in which every row begins at a whole vector.
enum class StagedCopies : std::uint8_t { kNo, kYes };

/// Thread-safe; products run one at a time. A device that hangs is given up by the call that finds
/// it out, and others are told so at once, whatever that call has still to wait for
/// (DeviceProduct).
class DeviceTier {
 public:
  /// profile: as it was when the device was tuned. Nothing is opened here.
  DeviceTier(DeviceProfile profile, DeviceRates rates, KernelRanking ranking,
             std::filesystem::path cache_folder);

  const DeviceProfile& profile() const { return profile_; }
  const KernelRanking& ranking() const { return ranking_; }

  /// Opens it if need be. Throws kDevice when it is absent, changed or lost.
  std::shared_ptr<Device> device();

  /// Kernels that are legal for the problem as it would be staged, best first (KernelRanking).
  /// Pure: depends on the database only.
  std::vector<RankedChoice> ranked(const Problem& p) const;
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
  /// Takes no lock.
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

  std::mutex running_;  // for as long as a product runs
  std::unique_ptr<BufferPool> pool_;
  std::atomic<const BufferPool*> made_pool_ = nullptr;  // for who only asks
  std::atomic<std::uint64_t> imports_ = 0;
  DeviceKernels kernels_;
};

}  // namespace rooftile
