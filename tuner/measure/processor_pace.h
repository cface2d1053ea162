// Delays of this process's processors. A hypervisor may run two virtual processors on one physical
// one, or suspend them, for tenths of a second, and reports this nowhere.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace rooftile {

/// One thread for each processor that the calling thread may use at construction, bound to it. The
/// threads sleep except during slowest_ns(). Not thread-safe.
class ProcessorPace {
 public:
  ProcessorPace();
  ~ProcessorPace();
  ProcessorPace(const ProcessorPace&) = delete;
  ProcessorPace& operator=(const ProcessorPace&) = delete;

  /// Runs a fixed number of multiply-adds in registers on all threads at once. Returns the time in
  /// ns that the slowest thread takes for a piece of this work. Each thread counts by the median of
  /// its pieces, so that a single interruption by the scheduler does not matter. Takes some 0.3 ms
  /// plus the wake-up of sleeping processors. The calling thread sleeps meanwhile.
  double slowest_ns();

 private:
  void work(std::size_t thread, int processor);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  std::uint64_t probes_ = 0;             ///< Probes begun.
  std::size_t working_ = 0;              ///< Threads that have not finished the last probe.
  std::atomic<std::size_t> absent_ = 0;  ///< Threads that are not awake yet.
  bool closes_ = false;
  std::vector<double> piece_ns_;  ///< One per thread.
  std::vector<std::jthread> threads_;
};

}  // namespace rooftile
