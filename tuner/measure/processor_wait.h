// Time that this process's threads waited for a processor that another thread was using. It
// distinguishes a busy machine from a slow one even under constant load.
#pragma once

namespace rooftile {

/// Sums over the threads of this process; only differences are meaningful. Both stay 0 where Linux
/// does not count them (/proc/self/task/*/schedstat).
struct ProcessorWait {
  double ran_ns = 0, waited_ns = 0;

  /// Share of the requested processor time that the threads did not get.
  double share() const { return waited_ns > 0 ? waited_ns / (ran_ns + waited_ns) : 0; }
};
/// Threads that have ended are not counted: the difference of two calls is valid if no thread ends
/// in between.
ProcessorWait processor_wait_now();
ProcessorWait operator-(const ProcessorWait& later, const ProcessorWait& earlier);

}  // namespace rooftile
