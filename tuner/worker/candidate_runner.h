// Runs candidates in the worker. Writes a journal entry before each and the sample or the block
// after it. Used by one tuning run of one device.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/store.h"
#include "tuner/measure/drift_monitor.h"
#include "tuner/worker/block_list.h"
#include "tuner/worker/budget.h"
#include "tuner/worker/candidate_requests.h"
#include "tuner/worker/compile_ahead.h"
#include "tuner/worker/counter_reader.h"
#include "tuner/worker/measure.h"
#include "tuner/worker/reference_timer.h"
#include "tuner/worker/sample_log.h"
#include "tuner/worker/watchdog.h"
#include "tuner/worker/worker_process.h"

namespace rooftile {

struct RunnerOptions {
  RowId device = 0, run = 0;
  double compute_units = 1;  ///< Compute units of the device.
  double rotate_bytes = 0;
  std::optional<ReferenceKernel> reference;
  bool counters = true;  ///< Whether count() reads counters.
  std::function<void(const std::string&)> message;
  CompilerPool* compilers = nullptr;  ///< Compile ahead; null: nothing is compiled ahead.
  TimeAccount* account = nullptr;     ///< Of the run's time; null: the runner has its own.
  /// Whether kernels run on the processors that compile, so that nothing may be compiled during a
  /// measurement.
  bool shared_processors = true;
  bool keeps_operands = false;  ///< As of Watchdog.
  WatchdogLimits watchdog = {};
};

struct TimeOptions {
  int samples = 1;
  /// Limit of the device time of one call.
  double limit_ns = std::numeric_limits<double>::infinity();
  SamplePurpose purpose = SamplePurpose::kSearch;
  Spilled spilled = Spilled::kMeasure;
  bool prepacked = false;  ///< As in TimeRequest. Such samples are not stored, only failures are.
};

/// When candidates that are compiled ahead are measured: in the step that begins, or in later ones.
enum class Wanted : std::uint8_t { kNow, kLater };

/// A candidate that fails is data: it is blocked for this device and driver and is not run again.
class CandidateRunner {
 public:
  CandidateRunner(Store& store, WorkerProcess& worker, const Budget& budget,
                  const std::atomic<bool>& stop, RunnerOptions options);

  RowId id(const Variant& variant, const Signature& signature);
  /// Whether the candidate is blocked, or unverified and not released.
  bool rejected(RowId candidate) const { return block_list_.rejected(candidate); }
  /// Whether the candidate is blocked. One that is only unverified keeps what it has won.
  bool blocked(RowId candidate) const { return block_list_.blocked(candidate); }
  /// Candidates that were running when a tuner died; they are tried after all others. A released
  /// one is treated like any other, and the next verdict on it removes its journal entry.
  std::vector<CandidateRecord> suspects() const { return block_list_.suspects(); }
  void release(RowId candidate) { block_list_.release(candidate); }

  /// Returns false, with a message, when the operands alone take more than half of the worker's
  /// memory limit, because each kernel would be blamed for running out of memory.
  bool fits(const Problem& problem) const;

  /// Begins to compile candidates that will be timed on the problem in this order, on processors
  /// that are idle: those of a GPU's host while others are measured. On shared processors, returns
  /// when all are compiled. Does nothing where that does not pay (CompileAhead::pays).
  /// Those that are wanted now begin before others that wait for a compiler.
  void compile_ahead(std::vector<Variant> variants, const Problem& problem, Wanted wanted);

  /// Whether what is compiled ahead disturbs no measurement, so that more than a batch may be.
  bool compiles_beside() const { return !options_.shared_processors && ahead_.pays(); }
  CompileAhead::State compilation(const Variant& variant, const Signature& signature) {
    return ahead_.state(id(variant, signature));
  }
  /// Whether all compilers have their next work.
  bool compilers_are_full() const { return options_.compilers->is_full(); }
  /// Waits until a compilation ends, some hundredths of a second at most.
  void await_a_compiler();

  /// Times a candidate. No value: it is rejected, failed, dropped because of spilled registers,
  /// interrupted, out of budget, or estimated beyond options.limit_ns. Compiler statistics are
  /// stored in every case. The returned times are corrected for the device's drift since
  /// begin_problem(); the stored times are as measured, with the reference's level.
  std::optional<TimeReply> time(const Variant& variant, const Problem& problem,
                                const TimeOptions& options);
  /// Must be called before a problem's first candidate.
  void begin_problem() { drift_.begin_problem(); }
  /// Ratio of the device's time now to that at begin_problem().
  double level() const { return drift_.level_of_problem(); }
  /// Returns this generator's verdict from the database if there is one; otherwise certifies the
  /// candidate now.
  bool certified(const Variant& variant, const Signature& signature);

  /// Stores the driver's counters of the kernel computing the problem, which takes kernel_ns, once
  /// for each pass. If the counters cannot be read, this is reported once and costs no candidate
  /// anything; nothing is reported where the driver has none.
  void count(const Variant& variant, const Problem& problem, double kernel_ns);

  /// Expected time before the first sample of a problem, besides the kernel's compilation.
  double preparation_s(const Problem& problem) const {
    return watchdog_.usual_preparation_s(problem, requests_.worker());
  }

  std::size_t measured() const { return log_.measured(); }
  /// Requests to time a kernel that were answered, and wall time of what surrounded their kernels.
  std::size_t timed() const { return timed_; }
  double around_s() const { return around_s_; }
  std::size_t failures() const { return failures_; }
  /// Wall time of failures, including the start of new workers.
  double lost_s() const { return requests_.lost_s(); }
  /// Number of dropped candidates, which were compiled at most.
  std::size_t spilled() const { return log_.spilled(); }
  NoiseReport noise() const;
  TimeAccount& account() { return requests_.account(); }

 private:
  std::optional<double> time_reference();
  /// Says once a run that candidates are left out because memory ran out.
  void note_lack_of_memory();
  /// Asks the worker. After a time-out on a device, or a machine, that has become slower, asks once
  /// more with a longer limit, because that is not the candidate's fault.
  CandidateOutcome ask(RowId candidate, const Json& request, double watchdog_s);
  /// Slowdown of the machine since the run's earlier readings of the reference; 1 without one.
  double slowdown_now();
  /// Stores the failure of a candidate on a problem, and blocks it.
  void fail(const CandidateOutcome& outcome, SampleRecord sample, const Variant& variant);
  /// Waits for a candidate that is being compiled ahead, if it is. Returns how that failed.
  std::optional<CandidateOutcome> failure_ahead(RowId candidate);
  /// The same; a failure is stored as that of the candidate on the problem. Returns whether there
  /// was none.
  bool finish_ahead(const Variant& variant, const Problem& problem, SamplePurpose purpose);
  void reject(RowId candidate, const Variant& variant, const std::string& reason, double wall_s);

  Store& store_;
  RunnerOptions options_;
  TimeAccount own_account_;
  BlockList block_list_;
  CandidateRequests requests_;
  ReferenceTimer reference_;
  CompileAhead ahead_;
  Watchdog watchdog_;
  DriftMonitor drift_;
  SampleLog log_;
  CounterReader counters_;
  std::map<std::string, RowId> ids_;
  std::size_t failures_ = 0;
  std::size_t timed_ = 0;
  double around_s_ = 0;
  bool lacked_memory_ = false;
};

}  // namespace rooftile
