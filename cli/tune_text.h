// What `rooftile tune` prints of a device's problems.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/tune.h"

namespace rooftile {

/// Prints each problem as soon as it is tuned: in one line or, on a terminal where that does not
/// fit, in two and the winner below them. The winner is the last column, because its name may have
/// any length, which is unknown when the first line is printed.
class ResultTable {
 public:
  explicit ResultTable(const std::vector<TuneProblem>& problems);
  /// Prints the header directly before the first result, after the lines of a calibration.
  void print(const TuneResult& r);

 private:
  static constexpr std::array<std::size_t, 8> kWidths = {8, 7, 10, 8, 5, 9, 9, 9};

  void row(std::string_view problem, const std::array<std::string, 8>& figures,
           std::string_view winner) const;

  std::size_t problem_width_ = std::size("problem") - 1;
  bool folded_ = false, has_header_ = false;
};

std::ptrdiff_t tuned_problems(const TuneReport& report);

/// Prints the lines below the table of one device: the run's time, what is missing or open, noise,
/// and the regret that is expected of untuned problems.
void print_end(const TuneOptions& options, const TuneReport& report);

}  // namespace rooftile
