// What the database knows, for people and for programs. Reads the database and the model, never a
// device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/store.h"
#include "report/runtime_view.h"
#include "runtime/model/calibration.h"
#include "runtime/model/roofline.h"

namespace rooftile {

/// What a kernel moves through one level of memory. 0: not measured, or no bound.
struct LevelReport {
  std::string level;  // "memory", "cache", "shared"; "link": between host and device
  double bytes = 0;
  double intensity = 0;  // flops over bytes
  double gbps = 0;       // calibrated
  double gflops = 0;     // while these bytes moved: the kernel's; of the link the whole call's
  double bound_ns = 0;
  std::optional<double> modelled_bytes = {};  // what bytes would be, where the driver counted them
};

/// A place of a problem's ranked list.
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
  std::string signature;  // "f32.nt": of its class
  std::string kernel;     // short name
  Variant variant;
  double kernel_ns = 0, pack_ns = 0;
  double bound_ns = 0;  // of the problem, whatever the kernel
  Roofline roofline;    // of this kernel; bounds by counted bytes where there are any
  std::string limiter;  // of this kernel, by its roofline; "" without a calibration
  double limiter_ns = 0;
  Headroom headroom = {1, 1};
  std::vector<LevelReport> levels = {};
  // Kernel and packing of the untuned default and of the naive kernel; 0: not in the ranked list.
  double default_ns = 0, naive_ns = 0;
  double host_ns = 0;                           // predicted, all threads
  double call_ns = 0;                           // predicted, operands in host memory
  std::vector<RankedReport> alternatives = {};  // best first, without the winner
  std::optional<CompilerFacts> facts = {};
  std::optional<CounterSetRecord> counters = {};

  /// Whether the driver counted any level's bytes.
  bool counted() const;
  double total_ns() const { return kernel_ns + pack_ns; }
  /// What limits it once the limiter is lifted; "" when nothing is known to.
  std::string next_limiter() const;
};

struct RejectedReport {
  std::string kernel, reason;
};

/// A problem that was tuned, but none of whose kernels may run now.
struct StaleReport {
  std::string problem, kernel, reason;
};

struct FigureReport {
  Figure figure;
  std::optional<Figure> before;  // of the calibration before

  /// Value over the one before, minus 1.
  std::optional<double> drift() const;
  /// Whether that is more than the spreads of both explain.
  bool drifted() const;
};

/// The highest that kernels of one type may reach.
struct MathRoof {
  std::string type;
  double gflops = 0;
};

struct DeviceReport {
  RowId row = 0;
  DeviceProfile profile;
  std::string calibrated_at;  // ISO 8601 UTC, "" when never
  std::string calibrated_before;
  std::vector<FigureReport> figures = {};
  Calibration calibration = {};
  CalibrationRatios ratios = {};
  std::vector<MathRoof> math_roofs = {};      // f32, and the types that were tuned
  std::vector<LevelReport> level_roofs = {};  // level and gbps
  std::vector<ProblemReport> problems = {};   // best certified kernel of each
  std::vector<StaleReport> stale = {};
  std::vector<RejectedReport> rejected = {};  // black-listed, newest reason
};

struct Report {
  std::string database;
  std::vector<DeviceReport> devices;
};

Report make_report(const Store& store, const RuntimeView& runtime);
/// Of one device; record: of this store.
DeviceReport device_report(const Store& store, const DeviceRecord& record,
                           const RuntimeView& runtime);
/// kDate: when a device was calibrated; kFigures: every figure with its spread and drift.
enum class CalibrationDetail : std::uint8_t { kDate, kFigures };
std::string report_text(const Report& report, CalibrationDetail detail = CalibrationDetail::kDate);
/// docs/report.md describes the fields, docs/report.schema.json checks them.
std::string report_json(const Report& report);

/// Whole numbers in full, others with six digits.
std::string counter_value(const PerformanceCounter& counter);

/// A limiter in words: "arithmetic", "the bandwidth of device memory", ...
std::string_view limiter_text(std::string_view limiter);

}  // namespace rooftile
