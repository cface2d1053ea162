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
  kRefused,      // the worker reports an error: error and message are valid
  kTimedOut,     // killed by the watchdog
  kOutOfMemory,  // killed because it held more memory than it may
  kCrashed,      // died by itself: message says how
  kInterrupted,  // killed because stop became true
};

struct WorkerAnswer {
  WorkerFate fate = WorkerFate::kCrashed;
  Json reply;
  ErrorCode error = ErrorCode::kInternal;
  std::string message;
  double opening_s = 0;   // wall time that starting a new worker took before the request was sent
  bool doubtful = false;  // somebody else killed it, or it held too much after other requests too
};

/// What a worker may hold: three quarters of what is available now, 2 GiB at least. Operands and
/// compilers need far less; the rest keeps the machine usable.
double worker_memory_limit_bytes();

/// One worker at a time; it is started by the first request and again after a death. Not
/// thread-safe.
class WorkerProcess {
 public:
  /// program is run as `program worker`; opening is sent first to every new worker (its answer is
  /// awaited). memory_limit_bytes of resident memory, watched while a request is under way: a limit
  /// on address space would refuse drivers that only reserve it.
  WorkerProcess(std::filesystem::path program, Json opening,
                double memory_limit_bytes = worker_memory_limit_bytes());
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// deadline_s of wall time; when it passes the worker is killed. stop is polled. A worker whose
  /// device failed is not asked again: the next request starts a new one. Where it is in doubt
  /// whether the request was to blame, a new worker is asked the same once more.
  WorkerAnswer ask(const Json& request, double deadline_s, const std::atomic<bool>& stop);
  pid_t pid() const { return pid_; }  // 0 when none is running
  double memory_limit_bytes() const { return memory_limit_bytes_; }

 private:
  void start();
  WorkerAnswer open(const std::atomic<bool>& stop);
  WorkerAnswer attempt(const Json& request, double deadline_s, const std::atomic<bool>& stop);
  /// Kills what has not died by itself.
  struct Death {
    std::string how;
    bool by_kill = false;  // ours, if it had not died before
  };
  Death end();
  double resident_bytes() const;
  WorkerAnswer exchange(const Json& request, double deadline_s, const std::atomic<bool>& stop);

  std::filesystem::path program_;
  Json opening_;
  double memory_limit_bytes_;
  pid_t pid_ = 0;
  int to_worker_ = -1, from_worker_ = -1;
  std::string buffered_;
};

}  // namespace rooftile
