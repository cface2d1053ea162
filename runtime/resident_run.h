// Work of a context's device that was put on its queue.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/device.h"

namespace rooftile {

/// Host memory that a run's end fills from mapped memory.
struct Landing {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
};

/// What a run needs until it is finished, and what is left to do then.
struct RunContents {
  std::vector<CommandList> lists = {};                  // of this run only
  std::vector<std::shared_ptr<const void>> keeps = {};  // kernels, memory, lists of others
  std::vector<Landing> landings = {};
  double expected_ns = 0;
};

/// Thread-safe.
class Run {
 public:
  Run(Submission submission, RunContents contents)
      : contents_(std::move(contents)), submission_(std::move(submission)) {}

  /// False when it is not finished in so long (0: does not wait). Host memory is filled by the
  /// first call that sees it finished. Throws kDevice when the device was lost.
  bool wait(double timeout_ns);
  /// The same without filling anything.
  bool finished(double timeout_ns = 0) const { return submission_.wait(timeout_ns); }
  double expected_ns() const { return contents_.expected_ns; }

 private:
  RunContents contents_;
  Submission submission_;  // goes first: what it names must outlive it
  std::mutex landing_;
  bool landed_ = false;
};

}  // namespace rooftile
