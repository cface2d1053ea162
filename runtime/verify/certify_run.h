// Execution of one certification problem on a device. Internal to certify.cpp.
#pragma once

#include <string>

#include "core/problem.h"
#include "runtime/kernel/kernel.h"

namespace rooftile {

/// Special values in the operands besides uniform values in [-1, 1].
enum class InjectedFault : std::uint8_t { kNothing, kDenormals, kInfinities };

struct CertificationCase {
  Problem problem;
  InjectedFault plant = InjectedFault::kNothing;
  bool nan_in_c = false;  ///< C holds NaN before a call with beta == 0.
};

/// Numbers of elements of the operand buffers with their guard zones.
struct GuardedSizes {
  std::int64_t a, b, c;
};
GuardedSizes guarded_sizes(const Problem& p);
Placement guarded_placement(const Problem& p);

struct CaseResult {
  std::string wrong = {};  ///< Description of the error; empty when the result is right.
  double worst_ratio = 0;  ///< Largest ratio of error to bound.
};
/// Fills the operands between guard zones with random values, runs the kernel and compares every
/// element. Throws device errors.
CaseResult run_case(Device& device, const Kernel& kernel, const CertificationCase& test);

}  // namespace rooftile
