// The tuner's end of a worker: start, ask with a deadline, kill.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "tuner/worker_protocol.h"

namespace rooftile {

enum class WorkerFate : std::uint8_t {
  kAnswered,     // reply is valid
  kRefused,      // the worker lives and reports an error: error and message are valid
  kTimedOut,     // killed by the watchdog
  kCrashed,      // died by itself: message says how
  kInterrupted,  // killed because stop became true
};

struct WorkerAnswer {
  WorkerFate fate = WorkerFate::kCrashed;
  Json reply;
  ErrorCode error = ErrorCode::kInternal;
  std::string message;
};

/// One worker at a time; it is started by the first request and again after a death. Not
/// thread-safe.
class WorkerProcess {
 public:
  /// program is run as `program worker`; opening is sent first to every new worker (its answer is
  /// awaited).
  WorkerProcess(std::filesystem::path program, Json opening);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// deadline_s of wall time; when it passes the worker is killed. stop is polled.
  WorkerAnswer ask(const Json& request, double deadline_s, const std::atomic<bool>& stop);
  pid_t pid() const { return pid_; }  // 0 when none is running

 private:
  void start();
  void kill_and_reap();
  std::string reap();  // how it died
  WorkerAnswer exchange(const Json& request, double deadline_s, const std::atomic<bool>& stop);

  std::filesystem::path program_;
  Json opening_;
  pid_t pid_ = 0;
  int to_worker_ = -1, from_worker_ = -1;
  std::string buffered_;
};

}  // namespace rooftile
