// The whole of `rooftile tune`: calibrate once, then search, certify and store within a budget of
// wall time that begins after the calibration.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"
#include "db/store.h"
#include "runtime/model/portfolio.h"
#include "tuner/calibration_run.h"
#include "tuner/certify_imported.h"
#include "tuner/host_comparison.h"
#include "tuner/noise_report.h"
#include "tuner/refresh.h"

namespace rooftile {

struct TuneProblem {
  Problem problem;
  std::string note;
};

/// Built-in problem sets: "default", "squares", "transformer", "deepbench", "applications". Throws
/// kInvalidArgument.
std::vector<TuneProblem> problem_set(std::string_view name);
std::vector<std::string> problem_set_names();
/// m,n,k,trans_a,trans_b,batch,note with a header line; '#' lines are comments. Errors name file
/// and line.
std::vector<TuneProblem> read_problem_csv(const std::filesystem::path& file);

struct TuneOptions {
  std::vector<TuneProblem> problems;
  double budget_s = 300;          // wall time for one device; everything but its calibration
  std::string strategy = "auto";  // of strategy_names()
  std::uint64_t seed = 1;
  // Of a problem's space only so many candidates, the same ones in every run; 0: all. The default,
  // the fallback and priors are searched besides.
  std::size_t candidates = 0;
  bool recalibrate = false;  // even if this device and driver have figures
  // Stale ranked lists and imported data, and then nothing; problems may be empty.
  bool refresh_only = false;
  bool counters = true;  // reads the driver's counters of each winner, where it has any
  bool atomics = false;  // kernels whose results do not repeat bit by bit as well
  std::filesystem::path
      worker;  // program run as `worker worker`: the CLI itself; empty: /proc/self/exe
};

enum class TunePhase : std::uint8_t {
  kCalibrating,
  kRefreshing,
  kImporting,
  kSearching,
  kCertifying,
  kComparing,
  kFinished
};

/// Snapshot for a progress bar.
struct TuneProgress {
  TunePhase phase = TunePhase::kCalibrating;
  double elapsed_s = 0, budget_s = 0;
  std::size_t problems_done = 0, problems_total = 0;
  std::string problem;  // being tuned
  std::size_t candidates_measured = 0, candidates_rejected = 0;
  double best_gflops = 0;     // of the problem being tuned
  double roofline_share = 0;  // best time's share of the problem's bound, 0...1
  std::string best_variant;
  std::string limiter;  // of that kernel, by the model; "" when nothing is known to
};

/// One finished problem.
struct TuneResult {
  Problem problem;
  std::string winner;  // short name, "" when nothing legal was certified
  double kernel_ns = 0, pack_ns = 0;
  double default_ns = 0;  // untuned default variant, kernel and packing; 0 when it could not run
  double naive_ns = 0;    // 0 when predicted too slow to be worth running
  HostComparison host;    // OpenBLAS on all threads beside the winner, in the same run
  double bound_ns = 0;    // the problem's roofline
  std::size_t measured = 0, rejected = 0;
  std::size_t spilled = 0;  // not measured because their registers spill
};

struct TuneReport {
  RefreshReport refresh;
  ImportedReport imported;
  std::vector<TuneResult> results;
  // Of choosing a kernel for problems that were not tuned, over those that were compared, each left
  // out in turn (runtime/model/portfolio.h). No problems: too few to say.
  Regret untuned;
  bool interrupted = false, out_of_budget = false;
  double calibration_s = 0;  // wall time before the budget began; 0: known figures were used
  double elapsed_s = 0;      // of the budget
  std::size_t failed = 0;    // candidates that were black-listed
  double lost_s = 0;         // wall time that they cost, new workers included
  NoiseReport noise;
  RunConditions conditions;
};

struct TuneCallbacks {
  std::function<void(const TuneProgress&)> progress;
  std::function<void(const CalibrationRun&)> calibrated = {};  // if it had to be
  std::function<void(const TuneResult&)> problem_finished;
  std::function<void(const RefreshReport&)> refreshed = {};  // if any list was stale
  std::function<void(const ImportedReport&)> imported = {};  // if anything was to be certified
  std::function<void(const std::string&)>
      message;  // black-listed candidates, resumed journals, ...
};

/// Tunes one device. A device without calibration figures is calibrated first, in some 15 s that do
/// not count against the budget: cut short, its figures would be wrong for every later run. The
/// budget begins with the ranked lists that are stale and with imported data for this device and
/// driver, which get half of it at most. Where this machine was never calibrated, imported data
/// that brings a calibration is certified before that: programs can use it in the meantime. stop is
/// polled: when it turns true, what is measured is kept and certified winners are stored; a
/// calibration that it interrupts stores nothing.
TuneReport tune(Store& store, const DeviceProfile& device, const TuneOptions& options,
                const TuneCallbacks& callbacks, const std::atomic<bool>& stop);

}  // namespace rooftile
