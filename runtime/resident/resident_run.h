// Work that was submitted to a context's device.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/kernel/kernel.h"

namespace rooftile {

/// Copy from mapped memory to host memory at the end of a run.
struct Landing {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
};

/// What a run needs until it is finished, and the copies that remain to be done then.
struct RunContents {
  std::vector<CommandList> lists = {};  ///< Lists that only this run uses.
  /// Memory and lists of other owners.
  std::vector<std::shared_ptr<const void>> keeps = {};
  /// Kernels, of which some may not have run before.
  std::vector<std::shared_ptr<const Kernel>> kernels = {};
  std::vector<Landing> landings = {};
  double expected_ns = 0;
};

/// Thread-safe.
class Run {
 public:
  explicit Run(RunContents contents) : contents_(std::move(contents)) {}

  /// Before anything else, and before other threads know the run. Throws nothing.
  void begin(Submission submission) noexcept { submission_ = std::move(submission); }
  /// Returns false when the work is not finished within timeout_ns (0: does not wait). The first
  /// call that finds it finished fills the host memory. Throws kDevice when the device was lost.
  bool wait(double timeout_ns);
  /// Same as wait(), but fills no host memory.
  bool finished(double timeout_ns = 0) const;
  double expected_ns() const { return contents_.expected_ns; }
  const std::vector<std::shared_ptr<const Kernel>>& kernels() const { return contents_.kernels; }

 private:
  RunContents contents_;
  Submission submission_;  ///< Destroyed first, because it uses the members above.
  std::mutex landing_;
  bool landed_ = false;
};

}  // namespace rooftile
