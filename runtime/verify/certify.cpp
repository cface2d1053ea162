#include "runtime/verify/certify.h"

#include <algorithm>

#include "runtime/verify/certify_run.h"

namespace rooftile {

Certificate certify(Device& device, const Kernel& kernel, const Signature& signature,
                    const std::function<bool()>& is_interrupted) {
  const std::vector<CertificationCase> cases =
      certification_cases(kernel.variant(), signature, device.profile().limits, kernel.sums());
  Certificate certificate{.cases = cases.size()};
  if (cases.empty()) {
    certificate.detail = "no certification problem is legal for this kernel";
    return certificate;
  }
  for (const CertificationCase& test : cases) {
    if (is_interrupted && is_interrupted()) {
      certificate.interrupted = true;
      return certificate;
    }
    const CaseResult result = run_case(device, kernel, test);
    certificate.worst_ratio = std::max(certificate.worst_ratio, result.worst_ratio);
    certificate.detail = result.wrong;
    if (!certificate.detail.empty()) return certificate;
  }
  certificate.passed = true;
  return certificate;
}

}  // namespace rooftile
