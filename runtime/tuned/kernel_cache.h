// Certified kernels as compiled on one device, for calls on host memory and on device buffers
// alike.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "core/error.h"
#include "db/tables/records.h"
#include "runtime/kernel/kernel.h"

namespace rooftile {

/// Whether an error of work with a kernel is due to the kernel. Any other kernel would meet a lack
/// of memory or a lost device as well.
bool is_due_to_kernel(const Error& error, const Device& device);

/// Thread-safe. Each kernel is compiled once, and no lock that other kernels need is held
/// meanwhile. All calls must pass the same device.
class KernelCache {
 public:
  explicit KernelCache(std::filesystem::path folder) : shaders(std::move(folder)) {}
  const ShaderCache shaders;

  /// Throws when the kernel must not be used.
  using Check = std::function<void(const std::shared_ptr<const Kernel>&)>;

  /// Returns the kernel, and compiles and checks it if necessary. With sums in a workspace the
  /// candidate is the plain kernel before the signature's pass over C. Throws kUnsupported when the
  /// kernel has failed or is not the one that was certified; compile errors and those of the check,
  /// which count as a failure if they are due to the kernel.
  std::shared_ptr<const Kernel> kernel(const std::shared_ptr<Device>& device,
                                       const CandidateRecord& candidate, const Signature& signature,
                                       SumsIn sums = SumsIn::kC, const Check& check = {});

  /// Rejects a kernel because of this error, unless that is not due to it; reports this once.
  /// Returns whether the kernel is rejected. `pass` is the signature of the pass after the kernel,
  /// if any.
  bool reject_after(const Device& device, const CandidateRecord& candidate, const Error& error,
                    const Signature* pass = nullptr);

  /// Ends the use of a kernel. Returns false when it had ended before.
  bool reject(const std::string& hash, const std::string& reason);

  /// Both are false in a forked child for what failed before: another thread of its parent may have
  /// held the lock. any_failed() takes none.
  bool has_failed(const std::string& hash) const;
  bool any_failed() const { return failures_ > 0 && failed_in_ == ::getpid(); }

 private:
  struct Slot {
    std::mutex building;
    std::shared_ptr<const Kernel> kernel;  ///< Guarded by mutex_, as is the failure.
    std::string failure;                   ///< Why the kernel is not used any more.
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Slot> slots_;  ///< Keyed by shader hash and pass; only grows.
  std::atomic<int> failures_ = 0;                ///< Number of slots with a failure.
  std::atomic<pid_t> failed_in_ = 0;             ///< Process of the last failure.
};

}  // namespace rooftile
