// Which kernel computes a product on device buffers: the first of the ranked, certified ones that
// is legal where the operands lie, or one that is certified on demand; the fallback where there is
// none.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "runtime/kernel_ranking.h"
#include "runtime/on_demand_kernels.h"
#include "runtime/resident_product.h"
#include "runtime/shader_cache.h"

namespace rooftile {

/// What the buffers of the operands can be used for besides as storage buffers.
struct BufferUses {
  bool texels = true, copies = true;
};

using KernelHashes = std::unordered_set<std::string>;

/// Thread-safe; kernels are compiled once each, and no lock that others need is held meanwhile.
class ResidentKernels {
 public:
  /// ranking: of the device as it was tuned, or null; it must outlive this. on_demand: kernels of
  /// classes that were not tuned; null: none. condemned: kernels that are known to be bad.
  /// checking_device gives a device on which something may be run: the fallback is checked there
  /// before its first use where no certificate of it is known.
  ResidentKernels(std::shared_ptr<Device> device, const KernelRanking* ranking,
                  KernelHashes condemned, std::filesystem::path cache_folder,
                  std::function<std::shared_ptr<Device>()> checking_device,
                  std::shared_ptr<OnDemandKernels> on_demand);

  /// With a workspace of so many bytes at most. For a class that was not tuned a kernel is
  /// certified in the background, and the fallback computes meanwhile; where that cannot, the call
  /// waits for the certificate. Throws kUnsupported, saying what stands in the way, when no kernel
  /// can: the fallback's reason.
  ResidentProduct choose(const ResidentCall& call, std::uint64_t workspace_bytes,
                         const BufferUses& uses);

  /// A certified kernel, compiled if need be. Throws what compiling throws; one that has failed is
  /// not tried again.
  std::shared_ptr<const Kernel> certified(const CandidateRecord& candidate,
                                          const Signature& signature) {
    return kernel(candidate, signature, Certified::kYes);
  }

 private:
  enum class Certified : std::uint8_t { kNo, kYes };
  struct Slot {
    std::mutex building;
    std::shared_ptr<const Kernel> kernel;
    std::string failure;  // it is not tried again
  };
  std::shared_ptr<const Kernel> kernel(const CandidateRecord& candidate, const Signature& signature,
                                       Certified certified);
  std::shared_ptr<const Kernel> build(const CandidateRecord& candidate, const Signature& signature,
                                      Certified certified) const;

  const std::shared_ptr<Device> device_;
  const KernelRanking* const ranking_;
  const std::shared_ptr<OnDemandKernels> on_demand_;
  const KernelHashes condemned_;
  const ShaderCache shader_cache_;
  const std::function<std::shared_ptr<Device>()> checking_device_;

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots_;  // by shader hash
};

}  // namespace rooftile
