// The content of a report as data. Text, JSON and the HTML page print the same values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/time_account.h"
#include "db/tables/records.h"
#include "runtime/model/calibration.h"
#include "runtime/model/roofline.h"

namespace rooftile {

/// The bytes that a kernel moves through one level of memory. A value of 0 means not measured, or
/// no bound.
struct LevelReport {
  std::string level;  // "memory", "cache", "shared"; "link": between host and device
  double bytes = 0;
  double intensity = 0;  // flops over bytes
  double gbps = 0;       // calibrated
  double gflops = 0;     // rate of the kernel; for the link, that of the whole call
  double bound_ns = 0;
  std::optional<double> modelled_bytes = {};  // the model's bytes, where the driver counted them
};

/// An entry of a problem's ranked list.
struct RankedReport {
  std::string kernel;
  double kernel_ns = 0, pack_ns = 0;
  std::string limiter;
  double over_bound = 0;  // kernel time over its largest bound; 0: nothing is calibrated

  double total_ns() const { return kernel_ns + pack_ns; }
};

struct ProblemReport {
  Problem problem;
  RowId problem_row = 0;
  std::string signature;  // signature of its class: "f32.nt"
  std::string kernel;     // short name
  Variant variant;
  double kernel_ns = 0, pack_ns = 0;
  double bound_ns = 0;  // bound of the problem, for any kernel
  Roofline roofline;  // of this kernel, with bounds by counted bytes where the driver counted them
  Limiter limiter;    // no name without a calibration
  Headroom headroom = {1, 1};
  std::vector<LevelReport> levels = {};
  // How certain the winner is, and the default that it was compared with; empty where an older
  // version of Rooftile or another machine stored it.
  std::optional<OutcomeRecord> outcome = {};
  std::string default_kernel = {};  // short name; "" where it is unknown or could not run
  double naive_ns = 0;  // kernel and packing of the naive kernel; 0: it is not in the ranked list
  double host_ns = 0;   // predicted, all threads
  double call_ns = 0;   // predicted, operands in host memory
  std::vector<RankedReport> alternatives = {};  // best first, without the winner
  std::optional<CompilerFacts> facts = {};
  std::optional<CounterSetRecord> counters = {};

  /// Whether the driver counted any level's bytes.
  bool counted() const;
  double total_ns() const { return kernel_ns + pack_ns; }
  double default_ns() const;  // kernel and packing; 0: unknown
  /// The kernel's largest bound, and the next one, which holds once that is lifted; "" where none
  /// is known.
  std::string largest_bound() const, next_limiter() const;
  /// "math", "math or memory:cache", or "" without a calibration.
  std::string limiter_name() const;
};

struct RejectedReport {
  std::string kernel, reason;
};

/// A tuned problem without a kernel that may run now.
struct StaleReport {
  std::string problem, kernel, reason;
};

/// The fastest kernel that was measured on another machine, or in a browser, for a problem that has
/// no certified kernel here.
struct ElsewhereReport {
  Problem problem;
  std::string kernel;
  double kernel_ns = 0, pack_ns = 0;
  std::int64_t tried = 0;  ///< Kernels that were measured there.
};

struct FigureReport {
  Figure figure;
  std::optional<Figure> before;  // the same figure of the previous calibration

  /// The value over the previous one, minus 1.
  std::optional<double> drift() const;
  /// Whether the drift is larger than the spreads of both explain.
  bool drifted() const;
};

/// The highest rate that kernels of one type can reach.
struct MathRoof {
  std::string type;
  double gflops = 0;
};

struct DeviceReport {
  RowId row = 0;
  DeviceProfile profile;
  std::string calibrated_at;  // ISO 8601 UTC, "" when never
  std::string calibrated_before;
  std::string tuned_at = {};     // ISO 8601 UTC: when the last run began; "" when unknown
  ActivitySeconds seconds = {};  // of that run
  std::vector<FigureReport> figures = {};
  Calibration calibration = {};
  CalibrationRatios ratios = {};
  std::vector<MathRoof> math_roofs = {};      // of f32, and of the types that were tuned
  std::vector<LevelReport> level_roofs = {};  // level and gbps
  std::vector<ProblemReport> problems = {};   // best certified kernel of each
  std::vector<StaleReport> stale = {};
  std::vector<ElsewhereReport> elsewhere = {};
  std::vector<RejectedReport> rejected = {};  // black-listed kernels with the newest reason
  bool serves_here = false;  // other machines' data, for a device of this product and driver here
  std::string advice = {};   // what to do where there are no problems (untuned_advice); else empty
};

struct Report {
  std::string database;
  std::vector<DeviceReport> devices;
};

}  // namespace rooftile
