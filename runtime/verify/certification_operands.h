// Operands of a certification problem, and the comparison of its result with float64. Pure
// functions: a device, or a browser, runs the kernel between the two.
#pragma once

#include <string>
#include <vector>

#include "generator/rules.h"
#include "runtime/verify/certification_case.h"

namespace rooftile {

/// Numbers of elements of the operand buffers with their guard zones.
struct GuardedSizes {
  std::int64_t a, b, c;
};
GuardedSizes guarded_sizes(const Problem& p);
Placement guarded_placement(const Problem& p);

/// Contents of the buffers, guard zones included: NaN around A and B, and canaries around C.
struct CertificationOperands {
  std::vector<char> a, b, c;
  std::vector<char> scales, zero_points;  ///< Of a quantised B; otherwise empty.
  std::vector<float> vectors, residual;   ///< Of the epilogue; at least a few elements.
  Placement placement;
};
/// Returns the same contents for the same case.
CertificationOperands certification_operands(const CertificationCase& test);

struct CaseResult {
  std::string wrong = {};  ///< Description of the error; empty when the result is right.
  double worst_ratio = 0;  ///< Largest ratio of error to bound.
};
/// Compares every element of the buffer of C after the call (as long as operands.c).
CaseResult compare_result(const CertificationCase& test, const CertificationOperands& operands,
                          const char* after);

}  // namespace rooftile
