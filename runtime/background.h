// Threads of the runtime's own, in processes that do not expect any.
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace rooftile {

/// Signals stay with the program's own threads. Throws std::system_error when no thread is to be
/// had.
std::jthread thread_without_signals(std::function<void(std::stop_token)> body);

/// Jobs, one after the other, on a thread that is there only while they last. Thread-safe. Jobs
/// must not throw. A process that ends, or unloads the library, first waits for the job under way:
/// drivers must not be torn down beneath it. A process forked from the one that posted neither
/// waits nor runs anything.
class Background {
 public:
  Background();
  /// Waits for the job under way; those that have not begun are dropped.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// False when the job is dropped: no thread to be had, or the process is ending.
  bool post(std::function<void()> job);

  /// To be called when libraries are loaded that jobs will use, and before they are used: exit
  /// handlers run in reverse, so only one that is registered after theirs finds them whole. Once a
  /// process; false when that is ending already.
  static bool wait_at_exit();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
