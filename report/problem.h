// One tuned problem: the winner, why it is not faster, and what else was there.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace rooftile {

struct ProblemOnDevice {
  const DeviceReport* device;
  const ProblemReport* problem;
};

/// On every device of the report that it is tuned on; ld, alpha and beta make no difference.
/// Throws kUnsupported, saying what is tuned, when there is none.
std::vector<ProblemOnDevice> find_problem(const Report& report, const Problem& wanted);
std::string problem_text(const std::vector<ProblemOnDevice>& found);
std::string problem_json(const Report& report, const std::vector<ProblemOnDevice>& found);

}  // namespace rooftile
