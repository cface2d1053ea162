// C on the host while it is computed in float32.
#pragma once

#include <memory>

#include "runtime/call/call.h"
#include "runtime/host/host_operands.h"

namespace rooftile {

/// Whether the call's residual is its own C, so that a copy must be kept while C is written.
inline bool residual_is_c(const GemmCall& call) {
  for (std::int64_t i = 0; i < call.problem.batch; ++i)
    if (call.epilogue.residual + i * call.epilogue.stride_residual == call.c_of(i)) return true;
  return false;
}

/// C of a batch as float32: the caller's C itself, or a copy that end() converts to C's type.
class WideResult {
 public:
  explicit WideResult(const Problem& p) : p_(p) {
    if (p.types.c != DataType::kF32) copy_ = uninitialized_floats(p.m * p.n);
  }
  std::int64_t ld() const { return copy_ ? p_.n : p_.ldc; }
  float* begin(void* c) {
    if (!copy_) return static_cast<float*>(c);
    if (p_.beta != 0.0f) widen_rows(p_.types.c, {p_.m, p_.n}, c, p_.ldc, copy_.get(), p_.n);
    return copy_.get();
  }
  void end(void* c) const {
    if (copy_) narrow_matrix(p_.types.c, {p_.m, p_.n}, copy_.get(), p_.n, c, p_.ldc);
  }

 private:
  const Problem& p_;
  std::unique_ptr<float[]> copy_;
};

}  // namespace rooftile
