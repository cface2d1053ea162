// How much the processors of this process are held up. A hypervisor may run two of its machines'
// processors on one, or let them wait, for a tenth of a second or for some, and accounts for it
// nowhere.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace rooftile {

/// A thread for each processor that the calling thread may use when this is made, bound to it; they
/// sleep but for the time of slowest_ns(). Not thread-safe.
class ProcessorPace {
 public:
  ProcessorPace();
  ~ProcessorPace();
  ProcessorPace(const ProcessorPace&) = delete;
  ProcessorPace& operator=(const ProcessorPace&) = delete;

  /// All threads multiply and add in registers at once, as often each time: what the slowest of
  /// them takes for a piece of the work, in ns, each by the median of its pieces, so that one that
  /// the scheduler interrupts is no hold-up. Takes some 0.3 ms and, where a processor sleeps, its
  /// waking up. The calling thread sleeps meanwhile.
  double slowest_ns();

 private:
  void work(std::size_t thread, int processor);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  std::uint64_t probes_ = 0;             // begun
  std::size_t working_ = 0;              // threads that have not finished the last one
  std::atomic<std::size_t> absent_ = 0;  // threads that are not awake yet
  bool closes_ = false;
  std::vector<double> piece_ns_;  // of each thread
  std::vector<std::jthread> threads_;
};

}  // namespace rooftile
