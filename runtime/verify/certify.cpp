#include "runtime/verify/certify.h"

#include <algorithm>

#include "runtime/verify/certify_run.h"

namespace rooftile {

namespace {

Certificate run_cases(Device& device, const Kernel& kernel,
                      const std::vector<CertificationCase>& cases,
                      const std::function<bool()>& is_interrupted) {
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

}  // namespace

Certificate certify(Device& device, const Kernel& kernel, const Signature& signature,
                    const std::function<bool()>& is_interrupted) {
  return run_cases(
      device, kernel,
      certification_cases(kernel.variant(), signature, device.profile().limits, kernel.sums()),
      is_interrupted);
}

Certificate check_edges(Device& device, const Kernel& kernel, const Signature& signature) {
  if (signature.grouped) return certify(device, kernel, signature);
  return run_cases(device, kernel, {edge_case(signature)}, {});
}

}  // namespace rooftile
