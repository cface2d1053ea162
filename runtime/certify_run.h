// One certification problem on a device. Internal to certify.cpp.
#pragma once

#include <string>

#include "runtime/certify.h"

namespace rooftile {

/// Elements of the operand buffers with their guard zones, and where in them the matrices lie.
struct GuardedSizes {
  std::int64_t a, b, c;
};
GuardedSizes guarded_sizes(const Problem& p);
Placement guarded_placement(const Problem& p);

struct CaseResult {
  std::string wrong = {};  // what is; empty when right
  double worst_ratio = 0;  // largest error over its bound
};
/// Random operands between guard zones, the kernel, every element compared. Device errors are
/// thrown.
CaseResult run_case(Device& device, const Kernel& kernel, const CertificationCase& test);

}  // namespace rooftile
