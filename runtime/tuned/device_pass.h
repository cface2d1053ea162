// A call on device buffers whose epilogue, or type of C, no tuned kernel has, in two steps that
// both run on the device: a tuned plain kernel leaves its sums in a workspace (SumsIn::kWorkspace),
// and one pass over C applies the rest. The sums are float32 (int32 of 8-bit integers), so C is
// rounded once, as by a kernel of the call's own class.
#pragma once

#include <memory>
#include <vector>

#include "runtime/kernel/kernel.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

/// The problem that the plain kernel computes, packed in buffers of its own: same operands and
/// sizes, without epilogue, beta 0, C in the type of the sums.
Problem problem_before_device_pass(const Problem& p);

/// Predicted time of the pass: a dispatch, and the bytes of the sums, C and the residual at the
/// measured bandwidth of the memory that holds them.
double device_pass_ns(const Problem& p, const DeviceRates& rates);

/// Tuned kernels of that plain problem's class that can make the sums of p with its operands where
/// they lie, best first; expected_ns includes the pass. Empty where the class is not tuned.
/// prepacked: an operand that is packed already; null: none.
std::vector<RankedChoice> ranked_before_device_pass(const KernelRanking& ranking, const Problem& p,
                                                    const Placement& at, const DeviceLimits& limits,
                                                    const PrepackedOperand* prepacked = nullptr);

/// What computes a problem whose class was not tuned, best first each.
struct KernelsOfUntunedClass {
  std::vector<RankedChoice> certified = {};    // of its own class, on demand
  std::vector<RankedChoice> before_pass = {};  // ranked_before_device_pass()

  /// Whether a pass is predicted to be faster than a certified kernel, or is all there is.
  bool prefer_pass() const {
    if (before_pass.empty()) return false;
    return certified.empty() || before_pass.front().expected_ns < certified.front().expected_ns;
  }
};

/// Runs the certification problems (runtime/verify/certify.h) on the two steps together. Throws
/// kInternal when a result is wrong, and what the kernel throws when it runs.
void check_device_pass(Device& device, const Kernel& kernel, const Signature& signature);

}  // namespace rooftile
