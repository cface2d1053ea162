// The device tier: a tuned device, opened when the first call needs it, and its ranked kernels.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/device_profile.h"
#include "runtime/context.h"
#include "runtime/kernel.h"
#include "runtime/kernel_ranking.h"
#include "runtime/staging.h"

namespace rooftile {

/// Thread-safe; products run one at a time.
class DeviceTier {
 public:
  /// profile: as it was when the device was tuned. Nothing is opened here.
  DeviceTier(DeviceProfile profile, KernelRanking ranking, std::filesystem::path cache_folder);

  const DeviceProfile& profile() const { return profile_; }

  /// Kernels that are legal for the problem as it would be staged, best first (KernelRanking).
  /// Pure: depends on the database only.
  std::vector<RankedChoice> ranked(const Problem& p) const;

  /// Why this product cannot run here at all (memory, lost device, no legal kernel), or "".
  std::string veto(const Problem& p) const;

  /// Why the operands exceed the device's memory, or "". Takes no lock.
  std::string does_not_fit(const Problem& p) const;

  /// Runs the product with the first kernel that works; C is written only on success. Throws the
  /// last failure when none does: kDevice, kTimeout, kOutOfMemory, kUnsupported, kCompile.
  void gemm(const GemmCall& call);

  DeviceState state() const;

 private:
  void open();
  void run(const RankedChoice& choice, const GemmCall& call);
  const Kernel& kernel(const CandidateRecord& candidate, const Signature& signature);

  const DeviceProfile profile_;
  const KernelRanking ranking_;
  const ShaderCache shader_cache_;

  mutable std::mutex mutex_;  // guards everything below
  std::shared_ptr<Device> device_;
  std::unique_ptr<BufferPool> pool_;
  std::unordered_map<std::string, std::unique_ptr<Kernel>> built_;  // by shader hash
  std::unordered_set<std::string> failed_;  // hashes that did not compile or run in this process
  bool gone_ = false;                       // absent, changed or lost: never tried again
  std::string last_failure_;
};

}  // namespace rooftile
