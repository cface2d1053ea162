// Certificates of kernels as native ones (runtime/verify/certify.h), with the page in the place of
// the device: it runs the kernel on the operands of each case.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/verify/certification_cases.h"
#include "runtime/verify/certification_operands.h"
#include "web/engine/json_values.h"

namespace rooftile::web {

class Certification {
 public:
  /// Throws kUnsupported where no case is legal for the kernel.
  Certification(const Variant& v, const Signature& s, const DeviceLimits& limits);

  std::size_t cases() const { return cases_.size(); }
  /// Makes the operands of a case and returns what programs_of() does, with "memory": {"a": {"at":
  /// address, "bytes": size}, ...} of the contents to begin with. Workspaces begin with NaN. The
  /// addresses hold until the next call. Throws kInvalidArgument for a case that there is not.
  Json prepare(std::size_t index);
  /// Memory for the contents of C after the kernel has run, as large as "c" of prepare().
  std::span<char> result();
  /// Compares result() with float64: {"ok": true, "ratio": largest error over its bound, "wrong":
  /// what was wrong}.
  Json compare() const;

 private:
  Variant v_;
  DeviceLimits limits_;
  std::vector<CertificationCase> cases_;
  std::size_t current_ = 0;
  std::optional<CertificationOperands> operands_;
  std::vector<char> result_;
};

}  // namespace rooftile::web
