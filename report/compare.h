// A comparison of two databases: of two machines, or of two drivers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace rooftile {

struct FigureComparison {
  std::string name, unit;
  std::optional<double> here, there;
};

/// The best kernels of a problem that is tuned on both sides; times include packing.
struct ProblemComparison {
  Problem problem;
  std::string kernel_here, kernel_there;
  double here_ns = 0, there_ns = 0;

  /// The speed there over the speed here.
  double ratio() const { return here_ns / there_ns; }
};

struct DeviceComparison {
  DeviceProfile here, there;
  std::vector<FigureComparison> figures;  // without the host's grid
  // The host's GEMMs: the number that was measured on both sides, and the mean ratio of there to
  // here.
  std::size_t host_points = 0;
  double host_ratio = 0;
  std::vector<ProblemComparison> problems;
  std::vector<std::string> only_here, only_there;  // problems
};

struct Comparison {
  std::string here, there;  // files
  std::vector<DeviceComparison> devices;
  std::vector<std::string> without_partner;  // devices there with which none here is compared
};

/// Compares each device here with the most similar one there: the same device with any driver, then
/// the same product, then the same kind; among equals the one with more tuned problems. Where both
/// files are the same, a device is not compared with itself. Throws kUnsupported when there is
/// nothing to compare. Control characters in names become '?'.
Comparison compare(Report here, Report there);
/// terminal: columns of the terminal that tables are to fit; 0: a line a row.
std::string comparison_text(const Comparison& comparison, std::size_t terminal = 0);
std::string comparison_json(const Comparison& comparison);

}  // namespace rooftile
