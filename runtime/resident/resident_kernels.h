// Which kernel computes a product on device buffers: the first of the ranked, certified ones that
// is legal where the operands lie; for a class that was not tuned one that is certified on demand,
// or a tuned plain kernel with a pass over C (runtime/tuned/device_pass.h); the fallback where
// there is none.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "runtime/kernel/shader_cache.h"
#include "runtime/resident/resident_product.h"
#include "runtime/tuned/kernel_ranking.h"
#include "runtime/tuned/on_demand_kernels.h"

namespace rooftile {

/// Additional uses of the operands' buffers besides storage buffers.
struct BufferUses {
  bool texels = true, copies = true;
};

using KernelHashes = std::unordered_set<std::string>;

/// Thread-safe. Each kernel is compiled once, and no lock that other threads need is held
/// meanwhile.
class ResidentKernels {
 public:
  /// - ranking: ranking of the device as it was tuned, or null. It must outlive this object.
  /// - on_demand: kernels of untuned classes; null: none.
  /// - condemned: hashes of kernels that are known to be wrong.
  /// - checking_device: returns a device on which the fallback kernel is checked before its first
  ///   use, where it has no certificate.
  ResidentKernels(std::shared_ptr<Device> device, const KernelRanking* ranking,
                  KernelHashes condemned, std::filesystem::path cache_folder,
                  std::function<std::shared_ptr<Device>()> checking_device,
                  std::shared_ptr<OnDemandKernels> on_demand);

  /// With a workspace of so many bytes at most. For a class that was not tuned a kernel is
  /// certified in the background; it is used, or a plain kernel with a pass over C, whichever is
  /// there and predicted to be faster. Where neither is there the fallback computes; where that
  /// cannot, the call waits for the certificate. Throws kUnsupported, saying what stands in the
  /// way, when no kernel can: the fallback's reason.
  ResidentProduct choose(const ResidentCall& call, std::uint64_t workspace_bytes,
                         const BufferUses& uses);

  /// Rejects the kernel with this hash, which was found to compute wrongly: it is not chosen any
  /// more. Products that were made with it before keep it.
  void reject(const std::string& hash, const std::string& reason);

  /// Returns a certified kernel, and compiles it if necessary. Throws compile errors; a kernel that
  /// has failed is not tried again.
  std::shared_ptr<const Kernel> certified(const CandidateRecord& candidate,
                                          const Signature& signature) {
    return kernel(candidate, signature, Use::kCertified);
  }

 private:
  /// As a certified kernel of the call's class; as the fallback, or as the certified plain kernel
  /// before a pass over C, which are checked before their first use.
  enum class Use : std::uint8_t { kCertified, kFallback, kBeforePass };
  class Search;
  struct Slot {
    std::mutex building;
    std::shared_ptr<const Kernel> kernel;
    std::string failure;  ///< Why the kernel is not tried again.
  };
  std::shared_ptr<Slot> slot_of(const std::string& name);
  /// Throws kUnsupported when the kernel of this slot has failed or was rejected.
  static void fail_if_unusable(Slot& slot);
  std::shared_ptr<const Kernel> kernel(const CandidateRecord& candidate, const Signature& signature,
                                       Use use);
  std::shared_ptr<const Kernel> build(const CandidateRecord& candidate, const Signature& signature,
                                      Use use) const;
  /// By a kernel that is certified on demand, or with a pass over C; nothing when neither is there.
  std::optional<ResidentProduct> without_tuned_class(Search& search) const;

  const std::shared_ptr<Device> device_;
  const KernelRanking* const ranking_;
  const std::shared_ptr<OnDemandKernels> on_demand_;
  const KernelHashes condemned_;
  const ShaderCache shader_cache_;
  const std::function<std::shared_ptr<Device>()> checking_device_;

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots_;  ///< Keyed by shader hash.
};

}  // namespace rooftile
