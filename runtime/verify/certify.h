// Certification of kernels. No kernel is dispatched before it has passed adversarial problems,
// compared with float64 under the standard error bound.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/problem.h"
#include "runtime/kernel/kernel.h"
#include "runtime/verify/certify_run.h"

namespace rooftile {

/// Returns the problems that certify a variant; they are fixed for a variant and signature. Each
/// size is one of {1, 2, 3, 5, 17, tile-1, tile, tile+1, a prime}, ld exceeds the row length, and
/// alpha and beta are from {0, 1, -1, 0.5}. A variant that requires exact tiles or an aligned ld
/// gets problems that it supports.
std::vector<CertificationCase> certification_cases(const Variant& variant,
                                                   const Signature& signature,
                                                   const DeviceLimits& limits,
                                                   SumsIn sums = SumsIn::kC);

struct Certificate {
  bool passed = false;
  bool interrupted = false;  ///< Some cases were not run; no case was wrong.
  std::string detail = {};   ///< First failure: case, element, computed and expected value, bound.
  std::size_t cases = 0;
  double worst_ratio = 0;  ///< Largest ratio of error to bound.
};

/// Runs every case, with guard zones of NaN around A and B and of canaries around C. Device errors
/// are thrown; a wrong result gives a certificate with passed == false. is_interrupted is called
/// before each case.
Certificate certify(Device& device, const Kernel& kernel, const Signature& signature,
                    const std::function<bool()>& is_interrupted = {});

}  // namespace rooftile
