// Holds a device's queue until everything that belongs to a sample is in it, so that the sample
// does not count how long the host takes to issue it.
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
  /// A host function of the queue. A library that waits for its own queue before it returns (to
  /// load a kernel, say) would never let us open the gate: it opens by itself then.
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
