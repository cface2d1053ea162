// What the database knows, for people and for programs. Reads the database and the model, never a
// device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/store.h"
#include "runtime/model/calibration.h"
#include "runtime/model/roofline.h"

namespace rooftile {

struct ProblemReport {
  Problem problem;
  std::string kernel;  // short name
  Variant variant;
  double kernel_ns = 0, pack_ns = 0;
  double bound_ns = 0;  // of the problem, whatever the kernel
  std::string limiter;  // of this kernel, by the model
  double limiter_ns = 0;
  double host_ns = 0;  // predicted, all threads
  std::optional<CompilerFacts> facts;
};

struct RejectedReport {
  std::string kernel, reason;
};

struct DeviceReport {
  DeviceProfile profile;
  std::string calibrated_at;  // ISO 8601 UTC, "" when never
  std::vector<Figure> figures;
  CalibrationRatios ratios = {};
  std::vector<ProblemReport> problems;   // best certified kernel of each
  std::vector<RejectedReport> rejected;  // black-listed, newest reason
};

struct Report {
  std::string database;
  std::vector<DeviceReport> devices;
};

/// generator_version: whose certificates count.
Report make_report(const Store& store, std::string_view generator_version);
std::string report_text(const Report& report);
/// docs/report.md describes the fields.
std::string report_json(const Report& report);

}  // namespace rooftile
