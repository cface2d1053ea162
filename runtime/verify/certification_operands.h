// One problem that a kernel is certified with, its operands, and the comparison of its result with
// float64. Pure functions: a device, or a browser, runs the kernel between the two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/groups.h"
#include "core/problem.h"
#include "generator/rules.h"

namespace rooftile {

/// Special values in the operands besides uniform values in [-1, 1].
enum class InjectedFault : std::uint8_t {
  kNothing,
  kDenormals,
  kInfinities,
  kMagnitudes,  ///< Values have magnitudes from 2^-60 to 2^60 (float64: from 2^-480 to 2^480).
  /// One product along k is large, and each other one a little less than 2^-23 of it. A quantised B
  /// has equal values.
  kOneLarge,
  /// Values of A from step kRoundedSteps on are 32 times as large as those before, and those of
  /// every other row 2^-100 as large.
  kTwoScales
};

struct CertificationCase {
  Problem problem;
  InjectedFault plant = InjectedFault::kNothing;
  bool nan_in_c = false;  ///< C holds NaN before a call with beta == 0.
  /// Large numbers, not NaN, lie around A and B: what is read there shows where a kernel computes
  /// sums again that are not finite.
  bool finite_guards = false;
  std::vector<Group> groups =
      {};  ///< Of a grouped problem. Rows behind them are not to be written.
};

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
  std::vector<char> vectors, residual;    ///< Of the epilogue; at least a few elements.
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
