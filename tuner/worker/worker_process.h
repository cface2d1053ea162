// The tuner's side of a worker: start, request with a deadline, kill.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "tuner/worker/worker_answer.h"

namespace rooftile {

/// Returns the memory limit of a worker: three quarters of the memory that is available now, at
/// least 2 GiB. Operands and compilers need far less; the rest keeps the machine usable.
double worker_memory_limit_bytes();

/// Whether this process and its workers may get no memory although the machine has some, as under
/// `ulimit -v`. Compilers and drivers that get none often crash or hang, and do not say why.
bool memory_is_limited();
inline constexpr const char* kMemoryLimitAdvice =
    "the limit on the memory of processes (ulimit -v) may be the cause: raise it";

/// Runs one worker at a time; the first request starts it, as does the first one after its death.
/// Not thread-safe.
class WorkerProcess {
 public:
  /// `program` is run as `program worker`; `opening` is sent first to every new worker, and its
  /// answer is awaited. memory_limit_bytes limits resident memory during a request; a limit of
  /// address space would refuse drivers that only reserve it.
  WorkerProcess(std::filesystem::path program, Json opening,
                double memory_limit_bytes = worker_memory_limit_bytes());
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Sends a request. The worker is killed after deadline_s of wall time, or when `stop`, which is
  /// polled, becomes true. A worker whose device failed gets no further request: the next one
  /// starts a new worker. Where it is unclear whether the request caused the failure, it is
  /// repeated once in a new worker. Time in which this process is stopped (Ctrl-Z) counts against
  /// no deadline, and a request during which it was stopped is repeated.
  WorkerAnswer ask(const Json& request, double deadline_s, const std::atomic<bool>& stop);
  pid_t pid() const { return pid_; }  ///< 0 when none is running.
  double memory_limit_bytes() const { return memory_limit_bytes_; }

 private:
  void start();
  WorkerAnswer open(const std::atomic<bool>& stop);
  WorkerAnswer attempt(const Json& request, double deadline_s, const std::atomic<bool>& stop);
  /// Cause of a death that end() returns. end() kills a worker that has not died by itself, and
  /// waits until it is gone.
  struct Death {
    std::string how;
    bool by_kill = false;  ///< Killed by this process, if it had not died before.
  };
  Death end();
  /// Kills the worker without waiting. It runs no more, but may need seconds to free its memory on
  /// a busy machine.
  void leave();
  /// Reaps the workers that were left and are gone.
  void reap();
  double resident_bytes() const;
  WorkerAnswer exchange(const Json& request, double deadline_s, const std::atomic<bool>& stop);

  std::filesystem::path program_;
  Json opening_;
  double memory_limit_bytes_;
  pid_t pid_ = 0;
  std::vector<pid_t> left_;
  int to_worker_ = -1, from_worker_ = -1;
  AnswerReader answers_;
  bool stopped_ = false;  ///< Whether this process was stopped during the last request.
};

}  // namespace rooftile
