// Results of rooftile-bench dispatch: lines, means and a table.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "runtime/model/dispatch.h"

namespace rooftile {

/// Result of one problem. Times are medians of a call in ns, for the tiers that took part.
struct DispatchResult {
  Problem problem;
  std::optional<double> device_ns, host_ns, host1_ns;
  std::optional<double> resident_device_ns, resident_host1_ns;
  // Predicted tiers: of the context that programs get, and with the host on one thread, with
  // operands in host memory and in device memory.
  Decision usual, alone, resident;
  // Time over that of the best tier, minus 1.
  double first_regret = 0, regret = 0, alone_regret = 0, resident_regret = 0;
  int calls = 0;  // Calls whose tier the context chose; regret is their mean.
};

class DispatchResults {
 public:
  /// Prints the result's line.
  void add(DispatchResult result);
  /// Prints the average cost of each contest's choices.
  void print() const;
  /// Writes a line for each problem. Throws kIo.
  void write(const std::filesystem::path& csv) const;

 private:
  std::vector<DispatchResult> results_;
};

}  // namespace rooftile
