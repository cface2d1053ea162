// Options of a tuner run, its progress, and its result for each problem.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "db/tables/records.h"
#include "tuner/host_comparison.h"
#include "tuner/problems/problem_sets.h"

namespace rooftile {

struct TuneOptions {
  std::vector<TuneProblem> problems;
  double budget_s = 300;          ///< Wall time for one device, without its calibration.
  std::string strategy = "auto";  ///< One of strategy_names().
  std::uint64_t seed = 1;
  /// Number of candidates of a problem's space, the same ones in every run; 0: all. The default,
  /// the fallback and priors are searched in addition.
  std::size_t candidates = 0;
  bool recalibrate = false;  ///< Calibrates even if this device and driver have figures.
  /// Only stale ranked lists and imported data are tuned; problems may be empty.
  bool refresh_only = false;
  bool counters = true;        ///< Reads the driver's counters of each winner, where it has any.
  bool atomics = false;        ///< Also searches kernels whose results do not repeat bit by bit.
  std::size_t processors = 0;  ///< Of this machine; 0: those that this process may use.
  /// Program that is run as `worker worker`: the CLI itself; empty: /proc/self/exe.
  std::filesystem::path worker;
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
  std::string problem;        ///< The problem being tuned.
  double best_gflops = 0;     ///< Of the problem being tuned.
  double roofline_share = 0;  ///< Best time's share of the problem's bound, 0...1.
  std::string limiter;        ///< Limiter of that kernel by the model; "" when unknown.
};

/// Fewest candidates of a problem's search whose best one is close to the fastest kernel there is:
/// searches of the frozen spaces (bench/replay) have 96 % of the optimum after so many. With fewer
/// the regret of choosing one of them would look small because all of them are slow.
inline constexpr std::size_t kLeastForRegret = 16;

/// Result of one problem.
struct TuneResult {
  Problem problem;
  std::string winner;  ///< Short name, "" when no legal kernel was certified.
  double kernel_ns = 0, pack_ns = 0;
  /// The kernel that programs take where nothing is tuned: short name, and time with
  /// packing; 0 when it could not run.
  std::string default_kernel;
  double default_ns = 0;
  OutcomeVerdict verdict = OutcomeVerdict::kOpen;  ///< The winner compared with the default.
  /// That the winner is faster than the default, 0...1, as far as pairs were measured.
  std::optional<double> confidence;
  std::size_t tried = 0;  ///< Candidates that were measured or failed, in all runs.
  double naive_ns = 0;    ///< 0 when predicted too slow to be worth running, or without time.
  HostComparison host;    ///< The host's BLAS compared with the winner, in the same run.
  double bound_ns = 0;    ///< The problem's roofline.
  std::size_t measured = 0, rejected = 0;  ///< In this run.
  std::size_t spilled = 0;                 ///< Not measured because their registers spill.
};

}  // namespace rooftile
