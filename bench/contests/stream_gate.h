// Blocks a device's queue until all work of a sample is submitted, so that the sample does not
// contain the host's submission time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace rooftile {

class StreamGate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  /// Host function of the queue. A library that waits for its own queue before it returns (for
  /// example to load a kernel) would block for ever, so the gate opens by itself after a while.
  static void wait(void* gate) {
    constexpr std::chrono::milliseconds kPatience{100};
    auto& self = *static_cast<StreamGate*>(gate);
    std::unique_lock lock(self.mutex_);
    self.changed_.wait_for(lock, kPatience, [&] { return self.open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

}  // namespace rooftile
