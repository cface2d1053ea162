// Which kernel computes a product on device buffers: the first that works of those that
// KernelChooser ranks for the places of the operands; the fallback where there is none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "runtime/resident/resident_product.h"
#include "runtime/tuned/kernel_cache.h"
#include "runtime/tuned/kernel_chooser.h"

namespace rooftile {

/// Additional uses of the operands' buffers besides storage buffers.
struct BufferUses {
  bool texels = true, copies = true;
};

using KernelHashes = std::unordered_set<std::string>;

/// Whether the choice of a kernel waits for a certificate of a better one, within
/// OnDemandKernels::kPatience: for what is kept, as in a list.
enum class AwaitCertificate : std::uint8_t { kNo, kYes };

/// Thread-safe.
class ResidentKernels {
 public:
  /// - chooser: the kernels of this device.
  /// - wrong_kernels: hashes of kernels that are known to be wrong.
  /// - cache: the compiled kernels of this device, and those that have failed.
  /// - checking_device: returns a device on which the fallback kernel is checked before its first
  ///   use, where it has no certificate.
  ResidentKernels(std::shared_ptr<Device> device, std::shared_ptr<const KernelChooser> chooser,
                  KernelHashes wrong_kernels, std::shared_ptr<KernelCache> cache,
                  std::function<std::shared_ptr<Device>()> checking_device);

  /// With a workspace of so many bytes at most. For a class that was not tuned a kernel is
  /// certified in the background; it is used, or a plain kernel with a pass over C, whichever is
  /// there and predicted to be faster. Where neither is there the fallback computes. Calls that
  /// must not wait for the certificate do so all the same if they are grouped, which the fallback
  /// computes more slowly than a few certificates take, or if the fallback cannot compute them.
  /// Throws kUnsupported, saying what stands in the way, when no kernel can: the fallback's reason.
  ResidentProduct choose(const ResidentCall& call, std::uint64_t workspace_bytes,
                         const BufferUses& uses, AwaitCertificate await);

  /// Waits until no kernel is being certified on demand.
  void wait_for_certificates() const {
    if (chooser_->on_demand() != nullptr) chooser_->on_demand()->wait();
  }

  /// Same contract as KernelCache::kernel.
  std::shared_ptr<const Kernel> certified(const CandidateRecord& candidate,
                                          const Signature& signature) const {
    return kernel(candidate, signature, Use::kCertified);
  }

 private:
  /// As a certified kernel of the call's class; as the fallback, or as the certified plain kernel
  /// before a pass over C, which are checked before their first use.
  enum class Use : std::uint8_t { kCertified, kFallback, kBeforePass };
  class Search;
  std::shared_ptr<const Kernel> kernel(const CandidateRecord& candidate, const Signature& signature,
                                       Use use) const;
  /// What a kernel must pass before its first use.
  void check(const std::shared_ptr<const Kernel>& kernel, const Signature& signature,
             Use use) const;
  /// By the kernel for whose panels the experts were packed, which is certified before its first
  /// use; nothing where they were not, or it cannot.
  std::optional<ResidentProduct> with_packed_experts(Search& search,
                                                     const ResidentCall& call) const;
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<const KernelChooser> chooser_;
  const KernelHashes wrong_kernels_;
  const std::shared_ptr<KernelCache> cache_;
  const std::function<std::shared_ptr<Device>()> checking_device_;
};

}  // namespace rooftile
