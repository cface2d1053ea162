// How long the threads of this process had to wait for a processor that another thread had. This
// tells a busy machine from a slow one even where the load never changes.
#pragma once

namespace rooftile {

/// Sums over the threads of this process; only differences mean anything. Both stay 0 where Linux
/// does not count them (/proc/self/task/*/schedstat).
struct ProcessorWait {
  double ran_ns = 0, waited_ns = 0;

  /// Of the processor time that the threads asked for, the share that they did not get.
  double share() const { return waited_ns > 0 ? waited_ns / (ran_ns + waited_ns) : 0; }
};
/// Threads that have ended are not counted: the difference of two calls is right where none ends in
/// between.
ProcessorWait processor_wait_now();
ProcessorWait operator-(const ProcessorWait& later, const ProcessorWait& earlier);

}  // namespace rooftile
