// The report of one tuned problem: its winner, what limits it, and the other kernels.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace rooftile {

struct ProblemOnDevice {
  const DeviceReport* device;
  const ProblemReport* problem;
};

/// The options of the program that name this problem: "--m 96 --n 80 --k 112 --trans-b".
std::string options_of(const Problem& p);
/// Covers every device of the report that the problem is tuned on; ld, alpha and beta are ignored.
/// Throws kUnsupported, naming tuned problems, when there is no such device.
std::vector<ProblemOnDevice> find_problem(const Report& report, const Problem& wanted);
/// terminal: columns of the terminal that tables are to fit; 0: a line a row.
std::string problem_text(const std::vector<ProblemOnDevice>& found, std::size_t terminal = 0);
std::string problem_json(const Report& report, const std::vector<ProblemOnDevice>& found);

}  // namespace rooftile
