// Candidates through the worker: journal before, black list and sample after. Used by one tuning
// run of one device.
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
#include "tuner/drift.h"
#include "tuner/measure.h"
#include "tuner/noise_report.h"
#include "tuner/worker_process.h"

namespace rooftile {

/// Wall-clock budget of a run.
class Budget {
 public:
  explicit Budget(double seconds);
  double elapsed_s() const;
  double left_s() const { return seconds_ - elapsed_s(); }
  double seconds() const { return seconds_; }
  /// Seconds that have passed and do not count.
  void leave_out(double seconds) { start_s_ += seconds; }

 private:
  double seconds_, start_s_;
};

/// What is timed again and again through a run, to see whether the device still is as fast.
struct ReferenceKernel {
  Variant variant;
  Problem problem;
};

struct RunnerOptions {
  RowId device = 0, run = 0;
  double compute_units = 1;  // of the device
  double rotate_bytes = 0;
  std::optional<ReferenceKernel> reference;
  bool counters = true;  // count() reads them
  std::function<void(const std::string&)> message;
};

struct TimeOptions {
  int samples = 1;
  double limit_ns = std::numeric_limits<double>::infinity();  // device time of one product
  SamplePurpose purpose = SamplePurpose::kSearch;
  Spilled spilled = Spilled::kMeasure;
};

/// A candidate that fails is data: it is black-listed for this device and driver, and answers
/// nothing from then on. What it may cost before it counts as hanging follows from the time that a
/// product may take, from the operands' size and from how long others took to compile.
class CandidateRunner {
 public:
  CandidateRunner(Store& store, WorkerProcess& worker, const Budget& budget,
                  const std::atomic<bool>& stop, RunnerOptions options);

  RowId id(const Variant& variant, const Signature& signature);
  /// Black-listed, or suspected and not released.
  bool rejected(RowId candidate) const {
    return rejected_.contains(candidate) || suspects_.contains(candidate);
  }
  /// Were being tried when a tuner died, and wait for the others. A suspect that is released is one
  /// candidate among others; its journal entry goes with the next verdict on it.
  std::vector<CandidateRecord> suspects() const;
  void release(RowId candidate);

  /// False, and said so, when the operands alone take more than half of what the worker may hold:
  /// each kernel would be blamed for it.
  bool fits(const Problem& problem) const;

  /// Nothing: rejected, failed, spilled and to be dropped, interrupted, out of budget, or estimated
  /// beyond options.limit_ns. What the compiler says is stored either way.
  /// Times are what they would have been when begin_problem() was called: the device's drift since
  /// then is taken out. Stored as they were measured, with the reference's level.
  std::optional<TimeReply> time(const Variant& variant, const Problem& problem,
                                const TimeOptions& options);
  /// To be called before a problem's first candidate.
  void begin_problem() { first_level_ = drift_.level(); }
  /// How much slower the device is now than it was at begin_problem().
  double level() const { return drift_.level() / first_level_; }
  /// From the database when this generator's verdict is there, else tried now.
  bool certified(const Variant& variant, const Signature& signature);

  /// Stores what the driver's counters read while the kernel computes the problem, which takes it
  /// kernel_ns, once for each of their passes. Where they cannot be read that is said once, and
  /// costs nobody anything; nothing is said where the driver has none.
  void count(const Variant& variant, const Problem& problem, double kernel_ns);

  std::size_t measured() const { return measured_; }
  std::size_t failures() const { return failures_; }
  double lost_s() const { return lost_s_; }  // wall time of failures, with the new workers' start
  std::size_t spilled() const { return spilled_; }  // dropped: compiled at most
  NoiseReport noise() const;

 private:
  struct Outcome {
    std::optional<Json> reply;
    std::optional<SampleStatus> failure;  // of the candidate; nothing when it is not to blame
    std::string message;
    double wall_s = 0;
  };
  /// What is stored of a candidate's compiler facts.
  struct KnownFacts {
    bool stored = false, dropped = false;
    bool spilled = false;
  };
  KnownFacts& known_facts(RowId candidate);
  void store_facts(RowId candidate, const TimeReply& reply);
  Outcome ask(RowId candidate, const Json& request, double watchdog_s);
  double deadline_s(double watchdog_s) const;
  /// Times the reference when it is due.
  void watch_reference();
  std::optional<double> time_reference(const ReferenceKernel& reference);
  void reject(RowId candidate, const Variant& variant, const std::string& reason, double wall_s);
  void acquit(RowId candidate);
  double operand_bytes(const Problem& problem) const;  // of all sets
  double preparation_s(const Problem& problem) const;
  bool over() const { return stop_.load() || budget_.left_s() <= 0; }

  Store& store_;
  WorkerProcess& worker_;
  const Budget& budget_;
  const std::atomic<bool>& stop_;
  RunnerOptions options_;
  std::set<RowId> rejected_;
  std::map<RowId, RowId> suspects_, released_;  // and their journal entries
  std::map<std::string, RowId> ids_;
  std::map<RowId, KnownFacts> facts_;
  std::map<RowId, double> compile_s_;
  std::vector<double> certification_s_;
  Problem prepared_;           // operands that the worker has
  pid_t prepared_worker_ = 0;  // which one
  bool lost_worker_ = false;   // a failure's: starting the next one is its cost, too
  double lost_s_ = 0;
  std::size_t measured_ = 0, failures_ = 0, spilled_ = 0;
  Drift drift_;
  double first_level_ = 1, reference_due_s_ = 0;
  NoiseReport noise_;
  bool countable_ = true;  // as far as is known
};

}  // namespace rooftile
