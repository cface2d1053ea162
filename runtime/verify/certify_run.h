// Execution of one certification problem on a device. Internal to certify.cpp.
#pragma once

#include "runtime/kernel/kernel.h"
#include "runtime/verify/certification_operands.h"

namespace rooftile {

/// Fills the operands between guard zones with random values, runs the kernel and compares every
/// element. Throws device errors.
CaseResult run_case(Device& device, const Kernel& kernel, const CertificationCase& test);

}  // namespace rooftile
