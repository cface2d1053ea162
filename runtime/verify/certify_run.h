// Execution of one certification problem on a device. Internal to certify.cpp.
#pragma once

#include "runtime/kernel/kernel.h"
#include "runtime/verify/certification_operands.h"

namespace rooftile {

/// Runs the kernel on these operands, which have the guard zones of certification_operands(test),
/// and compares every element. Throws device errors.
CaseResult run_case(Device& device, const Kernel& kernel, const CertificationCase& test,
                    const CertificationOperands& operands);
/// The same on random operands.
inline CaseResult run_case(Device& device, const Kernel& kernel, const CertificationCase& test) {
  return run_case(device, kernel, test, certification_operands(test));
}

}  // namespace rooftile
