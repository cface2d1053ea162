// Worker processes that compile kernels at the same time, each on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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
  /// Lets these begin before the others that wait.
  void hurry(const std::set<RowId>& candidates);
  /// Whether enough jobs wait to keep the workers busy while a batch is measured. More would be in
  /// the journal for nothing.
  bool is_full() const;
  /// Whether wait() would return at once.
  bool is_finished(RowId candidate) const;
  /// Waits until another job ends, some hundredths of a second at most.
  void wait_for_any();
  /// Waits for a posted candidate. When `stop` becomes true, all jobs are interrupted. An answer is
  /// also kInterrupted where the worker cannot open the device, and where the budget ended the job.
  CompileResult wait(RowId candidate, const std::atomic<bool>& stop);
  /// Interrupts all jobs, and waits until they have ended.
  void interrupt();

 private:
  void serve(WorkerProcess& worker, const std::stop_token& ended);
  CompileResult compile(WorkerProcess& worker, const CompileJob& job) const;

  const Budget& budget_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<CompileJob> waiting_;
  std::size_t ended_ = 0;  ///< Jobs that have.
  std::map<RowId, std::optional<CompileResult>>
      results_;  ///< Of posted jobs; nothing: not finished.
  std::atomic<bool> cancelled_ = false;
  std::vector<std::jthread> threads_;  ///< Last, so that they end before what they use.
};

}  // namespace rooftile
