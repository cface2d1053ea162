// Runs candidates in the worker. Writes a journal entry before each and the sample or the block
// after it. Used by one tuning run of one device.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/device_profile.h"
#include "db/store.h"
#include "tuner/measure/drift.h"
#include "tuner/measure/noise_report.h"
#include "tuner/worker/measure.h"
#include "tuner/worker/worker_process.h"

namespace rooftile {

/// Wall-clock budget of a run.
class Budget {
 public:
  explicit Budget(double seconds);
  double elapsed_s() const;
  double left_s() const { return seconds_ - elapsed_s(); }
  double seconds() const { return seconds_; }
  /// Excludes elapsed seconds from the budget.
  void leave_out(double seconds) { start_s_ += seconds; }

 private:
  double seconds_, start_s_;
};

/// A kernel that is timed repeatedly during a run, to detect changes of the device's speed.
struct ReferenceKernel {
  Variant variant;
  Problem problem;
};

struct RunnerOptions {
  RowId device = 0, run = 0;
  double compute_units = 1;  ///< Compute units of the device.
  double rotate_bytes = 0;
  std::optional<ReferenceKernel> reference;
  bool counters = true;  ///< Whether count() reads counters.
  std::function<void(const std::string&)> message;
};

struct TimeOptions {
  int samples = 1;
  /// Limit of the device time of one call.
  double limit_ns = std::numeric_limits<double>::infinity();
  SamplePurpose purpose = SamplePurpose::kSearch;
  Spilled spilled = Spilled::kMeasure;
  bool prepacked = false;  ///< As in TimeRequest. Such samples are not stored, only failures are.
};

/// Runs candidates. A candidate that fails is data: it is blocked for this device and driver and is
/// not run again. The time after which a candidate counts as hanging follows from the time limit of
/// a call, the size of the operands and the compile times of other candidates.
class CandidateRunner {
 public:
  CandidateRunner(Store& store, WorkerProcess& worker, const Budget& budget,
                  const std::atomic<bool>& stop, RunnerOptions options);

  RowId id(const Variant& variant, const Signature& signature);
  /// Whether the candidate is blocked, or unverified and not released.
  bool rejected(RowId candidate) const {
    return rejected_.contains(candidate) || suspects_.contains(candidate);
  }
  /// Candidates that were running when a tuner died; they are tried after all others. A released
  /// one is treated like any other, and the next verdict on it removes its journal entry.
  std::vector<CandidateRecord> suspects() const;
  void release(RowId candidate);

  /// Returns false, with a message, when the operands alone take more than half of the worker's
  /// memory limit, because each kernel would be blamed for running out of memory.
  bool fits(const Problem& problem) const;

  /// Times a candidate. No value: it is rejected, failed, dropped because of spilled registers,
  /// interrupted, out of budget, or estimated beyond options.limit_ns. Compiler statistics are
  /// stored in every case. The returned times are corrected for the device's drift since
  /// begin_problem(); the stored times are as measured, with the reference's level.
  std::optional<TimeReply> time(const Variant& variant, const Problem& problem,
                                const TimeOptions& options);
  /// Must be called before a problem's first candidate.
  void begin_problem() { first_level_ = drift_.level(); }
  /// Ratio of the device's time now to that at begin_problem().
  double level() const { return drift_.level() / first_level_; }
  /// Returns this generator's verdict from the database if there is one; otherwise certifies the
  /// candidate now.
  bool certified(const Variant& variant, const Signature& signature);

  /// Stores the driver's counters of the kernel computing the problem, which takes kernel_ns, once
  /// for each pass. If the counters cannot be read, this is reported once and costs no candidate
  /// anything; nothing is reported where the driver has none.
  void count(const Variant& variant, const Problem& problem, double kernel_ns);

  std::size_t measured() const { return measured_; }
  std::size_t failures() const { return failures_; }
  /// Wall time of failures, including the start of new workers.
  double lost_s() const { return lost_s_; }
  /// Number of dropped candidates, which were compiled at most.
  std::size_t spilled() const { return spilled_; }
  NoiseReport noise() const;

 private:
  struct Outcome {
    std::optional<Json> reply;
    /// Failure of the candidate; no value when it is not to blame.
    std::optional<SampleStatus> failure;
    std::string message;
    double wall_s = 0;
  };
  /// Compiler facts of a candidate that are stored.
  struct KnownFacts {
    bool stored = false, dropped = false;
    bool spilled = false;
  };
  KnownFacts& known_facts(RowId candidate);
  void store_facts(RowId candidate, const TimeReply& reply);
  Outcome ask(RowId candidate, const Json& request, double watchdog_s);
  double deadline_s(double watchdog_s) const;
  /// Times the reference if it is due.
  void watch_reference();
  std::optional<double> time_reference(const ReferenceKernel& reference);
  void reject(RowId candidate, const Variant& variant, const std::string& reason, double wall_s);
  void acquit(RowId candidate);
  double operand_bytes(const Problem& problem) const;  ///< Bytes of all operand sets.
  double preparation_s(const Problem& problem) const;
  bool over() const { return stop_.load() || budget_.left_s() <= 0; }

  Store& store_;
  WorkerProcess& worker_;
  const Budget& budget_;
  const std::atomic<bool>& stop_;
  RunnerOptions options_;
  std::set<RowId> rejected_;
  std::map<RowId, RowId> suspects_, released_;  ///< Candidates with their journal entries.
  std::map<std::string, RowId> ids_;
  std::map<RowId, KnownFacts> facts_;
  std::map<RowId, double> compile_s_;
  std::vector<double> certification_s_;
  Problem prepared_;           ///< Problem whose operands the worker holds.
  pid_t prepared_worker_ = 0;  ///< The worker that holds them.
  /// A failure lost the worker, so the next worker's start counts as its cost.
  bool lost_worker_ = false;
  double lost_s_ = 0;
  std::size_t measured_ = 0, failures_ = 0, spilled_ = 0;
  Drift drift_;
  double first_level_ = 1, reference_due_s_ = 0;
  NoiseReport noise_;
  bool countable_ = true;  ///< False once counters turned out to be unreadable.
};

}  // namespace rooftile
