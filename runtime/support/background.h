// Background threads of the runtime, which the program that uses the library does not expect.
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace rooftile {

/// Starts a thread on which all signals are blocked, so that the program's own threads receive
/// them, and on which floating-point operations trap nothing. Throws std::system_error when no
/// thread can be created.
std::jthread thread_without_signals(std::function<void(std::stop_token)> body);

/// Returns what it costs a call to start such a thread and to wait for its end, in ns: measured
/// once for each process, within a millisecond. Infinity where no thread can be created.
/// Thread-safe.
double thread_start_ns();

/// Runs jobs one after the other on a thread that exists only while there are jobs. Thread-safe.
/// Jobs must not throw. A process that ends, or unloads the library, first waits for the running
/// job, because drivers must not be torn down while the job uses them. A forked child neither waits
/// for jobs nor runs any.
class Background {
 public:
  Background();
  /// Waits for the running job and drops the jobs that have not started.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Returns false when the job is dropped because no thread can be created or the process is
  /// ending.
  bool post(std::function<void()> job);

  /// Lets the process wait for the running job when it ends: before any exit handler where the main
  /// thread, which has called this or post(), ends it, otherwise in an exit handler. It must be
  /// called after the libraries that jobs use are loaded and before jobs use them: exit handlers
  /// run in reverse order, so only a handler that is registered after theirs finds these libraries
  /// intact. Returns false when the process is already ending.
  static bool wait_at_exit();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
