// Two databases side by side: two machines, or two drivers.
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

/// The best kernel of a problem that is tuned on both sides; times with packing.
struct ProblemComparison {
  Problem problem;
  std::string kernel_here, kernel_there;
  double here_ns = 0, there_ns = 0;

  /// How many times as fast as here.
  double ratio() const { return here_ns / there_ns; }
};

struct DeviceComparison {
  DeviceProfile here, there;
  std::vector<FigureComparison> figures;  // without the host's grid
  // Of the host's products: how many were measured on both sides, and the mean of there over here.
  std::size_t host_points = 0;
  double host_ratio = 0;
  std::vector<ProblemComparison> problems;
  std::vector<std::string> only_here, only_there;  // problems
};

struct Comparison {
  std::string here, there;  // files
  std::vector<DeviceComparison> devices;
  std::vector<std::string> without_partner;  // devices over there that none here is compared with
};

/// Each device here with the one there that is most like it: the same one with any driver, the same
/// product, the same kind; of equals the one with more tuned problems. When both files are one,
/// never with itself. Throws kUnsupported when there is nothing to compare.
Comparison compare(const Report& here, const Report& there);
std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);

}  // namespace rooftile
