// A problem in a baseline's memory, with operands rotated as for Rooftile's kernels.
#pragma once

#include <string>
#include <vector>

#include "bench/baselines/baseline.h"

namespace rooftile {

/// Host memory of one set of operands, in the problem's layout.
struct HostOperands {
  const void* a;
  const void* b;
};

class BaselineRounds {
 public:
  /// Copies the sets with rows padded as for Rooftile's kernels, and checks some elements of a
  /// result against float64 (within the bound of runtime/verify/reference.h). The baseline is used
  /// until the next problem is loaded into it. Throws the errors of Baseline, and kInternal,
  /// naming the element, for a wrong result.
  BaselineRounds(Baseline& baseline, const Problem& p, const std::vector<HostOperands>& sets);

  /// Device time of the whole batch on the next set, after an untimed run on the previous set, as
  /// in Measurer.
  double next_ns();
  std::string clock() const { return baseline_.clock(); }

 private:
  void upload(const Problem& p, const HostOperands& operands, std::size_t set);
  void check(const Problem& p, const HostOperands& operands, std::size_t set);

  Baseline& baseline_;
  std::size_t sets_;
  std::size_t turn_ = 0;  // Set of the last run.
};

}  // namespace rooftile
