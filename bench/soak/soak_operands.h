// Operands of a soak case in host memory, and the comparison of its result.
#pragma once

#include <string>
#include <vector>

#include "bench/soak/soak_case.h"
#include "runtime/verify/certification_operands.h"

namespace rooftile {

/// Memory whose first byte lies some bytes behind an aligned one.
class ShiftedBytes {
 public:
  ShiftedBytes() = default;
  ShiftedBytes(const std::vector<char>& content, std::int64_t shift)
      : shift_(static_cast<std::size_t>(shift)), bytes_(shift_ + content.size()) {
    std::copy(content.begin(), content.end(), data());
  }
  char* data() { return bytes_.data() + shift_; }
  const char* data() const { return bytes_.data() + shift_; }
  std::size_t size() const { return bytes_.size() - shift_; }

 private:
  std::size_t shift_ = 0;
  std::vector<char> bytes_;
};

/// What a call reads and writes. The matrices begin guard elements into their memory, as those of a
/// certificate do (runtime/verify/certification_operands.h).
class SoakOperands {
 public:
  explicit SoakOperands(const SoakCase& test);

  static CertificationCase certification_case(const SoakCase& test);

  ShiftedBytes a, b, c, scales, zero_points, vectors, residual;

  const Placement& placement() const { return before_.placement; }
  /// Whether C and everything around it is as it was.
  bool c_is_untouched() const;
  /// Empty when every element of C is within its bound of the float64 result and nothing else has
  /// changed. c is what lies at the beginning of C's memory after the call.
  CaseResult compare(const char* after) const { return compare_result(case_, before_, after); }
  std::string changed_input() const;

 private:
  void plant_nan(const SoakCase& test);

  CertificationCase case_;
  CertificationOperands before_;
};

}  // namespace rooftile
