// Which kernels compute a problem on a device, and in which order they are tried: decided here for
// operands in host memory and on the device alike. The fallback kernel is what remains where there
// is none (runtime/resident/resident_kernels.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_profile.h"
#include "runtime/call/call.h"
#include "runtime/tuned/kernel_cache.h"
#include "runtime/tuned/kernel_ranking.h"
#include "runtime/tuned/on_demand_kernels.h"
#include "runtime/tuned/recent_rankings.h"

namespace rooftile {

/// How a device computes a problem.
enum class Means : std::uint8_t {
  kNone,
  kTuned,       // kernels that the tuner measured on the problem's class
  kCertified,   // variants of another class's kernels, certified on demand
  kHostPass,    // a plain kernel, and a pass of the host over C (runtime/call/pass_over_c.h)
  kDevicePass,  // the same with a pass of the device
};
std::string_view name(Means means);  // "", "tuned", "certified", "host_pass", "device_pass"

/// The kernels of a problem that compute it by the same means.
struct KernelChoice {
  Means means = Means::kNone;
  Problem problem = {};  ///< As the kernel gets it: with kHostPass the product before the pass.
  double pass_ns = 0;    ///< Predicted, of the host or the device.
  std::string_view pass_over = {};  ///< With kHostPass: operands_of_host_pass().
  /// Best first, with times that include a pass of the device. KernelChooser::choose() leaves out
  /// tuned ones, which KernelChooser::ranked() gives.
  std::vector<RankedChoice> kernels = {};
  /// With kCertified: a better kernel for this problem may still be certified.
  bool may_improve = false;
};

/// Whether all of these kernels have failed, so that none of them is used any more.
bool all_failed(const KernelCache& compiled, std::span<const RankedChoice> kernels);

/// Sorts choices, each with kernels, by the predicted times of their first ones. Equals keep their
/// order.
void put_fastest_first(std::vector<KernelChoice>& choices);

/// Whether kernels get staged copies of a call's matrices, in which every row starts at a whole
/// vector.
enum class StagedCopies : std::uint8_t { kNo, kYes };

/// Thread-safe.
class KernelChooser {
 public:
  /// `profile` is the device as it was when it was tuned. `on_demand` provides kernels of classes
  /// that were not tuned; null: none. `compiled` knows which kernels have failed. `host_gbps` is
  /// the bandwidth of host memory in GB/s, which predicts the host's passes; 0: unknown.
  KernelChooser(DeviceProfile profile, const DeviceRates& rates, KernelRanking ranking,
                std::shared_ptr<OnDemandKernels> on_demand,
                std::shared_ptr<const KernelCache> compiled, double host_gbps = 0);

  const KernelRanking& ranking() const { return ranking_; }
  const std::shared_ptr<OnDemandKernels>& on_demand() const { return on_demand_; }
  /// Whether a kernel is tuned for a problem's class that may round operands as far as its types
  /// say, or less far.
  bool rounds(const Problem& p) const;

  // ---- Operands in host memory, which are staged ----

  /// Tuned kernels if the problem's class has any. Otherwise certified kernels, or a plain kernel
  /// and the host's pass, whichever is there and predicted to be faster. The choice depends on the
  /// database and on what has been certified since.
  KernelChoice choose(const Problem& p) const;
  /// The kernels of such a choice that are legal for its staged problem, best first.
  std::vector<RankedChoice> ranked(const KernelChoice& choice) const;
  std::vector<RankedChoice> ranked(const Problem& p) const { return ranked(choose(p)); }
  /// The same for a call, which may have a packed operand.
  std::vector<RankedChoice> ranked(const GemmCall& call) const;
  /// The same where this operand would be packed for each kernel, and the others are staged or
  /// reside on the device.
  std::vector<RankedChoice> ranked_prepacked(const Problem& p, Operand operand,
                                             StagedCopies others) const;
  /// The rule that forbids the kernels of the problem's class, or the fallback where it has none;
  /// "" where none does.
  std::string why_no_kernel(const Problem& p) const;
  /// Whether request_kernel() could still lead to a certified kernel for this problem.
  bool may_certify(const Problem& of_call) const;
  /// Begins to certify a kernel for a problem whose class was not tuned (OnDemandKernels). Returns
  /// whether one is under way.
  bool request_kernel(const Problem& of_call) const;

  /// The types of a problem whose operands may be rounded as far as its types say: as far as the
  /// working kernel that is predicted to be fastest may, and not at all where that is not faster.
  Types rounded_types(const Problem& p) const;

  // ---- Operands on the device ----

  /// Where they lie, what the device can do there, and which of them is packed.
  struct OnDevice {
    const Placement& at;
    const DeviceLimits& limits;
    const PackedOperand* packed = nullptr;
    IsStored is_stored = IsStored::kYes;  ///< Of a packed operand.
  };
  /// What computes the problem, in the order in which it is tried: tuned kernels; for a class
  /// without any, certified kernels and plain ones with the device's pass, what is predicted to be
  /// faster first; for groups, kernels that were tuned for groups of quite other sizes. Empty: only
  /// the fallback computes it.
  std::vector<KernelChoice> choices_on_device(const Problem& p, const OnDevice& where) const;
  /// The same as above for operands on the device.
  Types rounded_types(const Problem& p, const OnDevice& where) const;
  /// The first of these where each operand is at the start of a buffer; kNone: there is none.
  KernelChoice choose_on_device(const Problem& p) const;
  /// Whether kernels are certified on demand for such a problem: its class was not tuned.
  bool certifies(const Problem& p) const { return on_demand_ && !ranking_.has_class(p); }

 private:
  /// Whether the class of a staged problem is tuned and has a kernel that is legal for its sizes.
  bool is_tuned(const Problem& staged) const;
  bool is_long(const Problem& p) const;
  /// The product before a pass of the host that the device can compute, in the problem's own types
  /// or widened to float32, or to float64 for float64 sums.
  std::optional<Problem> before_host_pass(const Problem& p) const;
  /// The plain problem whose sum may be divided where this one's is too long for the driver's loops
  /// (may_divide_k). Nothing where p is that problem, or short.
  std::optional<Problem> dividable(const Problem& p) const;
  /// Certified kernels of a class without tuned ones; empty when each has failed.
  OnDemandKernels::Certified certified(const Problem& p) const;
  std::vector<RankedChoice> recently_ranked(const Problem& staged) const;
  std::vector<RankedChoice> ranked_before_device_pass(const Problem& p,
                                                      const OnDevice& where) const;
  /// Predicted time of the first of these kernels that has not failed; infinity: there is none.
  double working_ns(std::span<const RankedChoice> kernels) const;
  /// `ns` predicts a problem's kernels.
  template <typename Ns>
  Types faster_types(const Problem& p, const Ns& ns) const;
  /// Predicted time of the transfers and of the first of these kernels.
  double predicted_ns(const Problem& p, std::span<const RankedChoice> kernels) const;

  const DeviceProfile profile_;
  const DeviceRates rates_;
  const KernelRanking ranking_;
  const bool rounds_ = ranking_.rounds();
  mutable RecentRankings recent_{ranking_};
  const std::shared_ptr<OnDemandKernels> on_demand_;
  const std::shared_ptr<const KernelCache> compiled_;
  const double host_gbps_;
};

}  // namespace rooftile
