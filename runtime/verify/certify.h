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
#include "runtime/verify/certification_cases.h"

namespace rooftile {

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

/// Same as above with edge_case() alone; a grouped kernel has few cases and runs all. This does not
/// replace a certificate; it is meant for the fallback kernel only.
Certificate check_edges(Device& device, const Kernel& kernel, const Signature& signature);

}  // namespace rooftile
