// Worker processes that compile kernels at the same time, each on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "db/store.h"
#include "tuner/worker/budget.h"
#include "tuner/worker/worker_process.h"

namespace rooftile {

/// A request to compile one candidate.
struct CompileJob {
  RowId candidate = 0;
  Json request;
  double watchdog_s = 0;  ///< After this wall time it counts as hanging.
};

struct CompileResult {
  WorkerAnswer answer;
  double wall_s = 0;  ///< Without the start of the worker.
};

/// The functions may be called by one thread only.
class CompilerPool {
 public:
  /// Each worker is started by its first job. The budget must outlive the pool.
  CompilerPool(std::vector<std::unique_ptr<WorkerProcess>> workers, const Budget& budget);
  /// Ends the workers, whatever they do.
  ~CompilerPool();
  CompilerPool(const CompilerPool&) = delete;
  CompilerPool& operator=(const CompilerPool&) = delete;

  std::size_t size() const { return workers_.size(); }
  /// Compiles a candidate that is not being compiled. Jobs begin in their order.
  void post(CompileJob job);
  /// Waits for a posted candidate. When `stop` becomes true, all jobs are interrupted. An answer is
  /// also kInterrupted where the worker cannot open the device, and where the budget ended the job.
  CompileResult wait(RowId candidate, const std::atomic<bool>& stop);
  /// Interrupts the jobs that have not begun.
  void interrupt_waiting();

 private:
  void serve(WorkerProcess& worker, const std::stop_token& ended);
  CompileResult compile(WorkerProcess& worker, const CompileJob& job) const;

  const Budget& budget_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<CompileJob> waiting_;
  std::map<RowId, std::optional<CompileResult>>
      results_;  ///< Of posted jobs; nothing: not finished.
  std::atomic<bool> cancelled_ = false;
  std::vector<std::jthread> threads_;  ///< Last, so that they end before what they use.
};

}  // namespace rooftile
