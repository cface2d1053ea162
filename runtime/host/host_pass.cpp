#include "runtime/host/host_pass.h"

#include <algorithm>

#include "runtime/call/pass_over_c.h"
#include "runtime/host/host_epilogue.h"
#include "runtime/host/host_operands.h"

namespace rooftile {
namespace {

/// Products of the batch with an operand of their own.
std::int64_t matrices(const Problem& p, std::int64_t stride, const void* const* array) {
  return array == nullptr && stride == 0 ? 1 : p.batch;
}

}  // namespace

HostPass::HostPass(const GemmCall& call, const Types& types) : call_(call), product_(call) {
  const Problem& p = call.problem;
  Problem& plain = product_.problem;
  plain = problem_before_host_pass(p, types);
  plain.lda = p.lda, plain.stride_a = p.stride_a;
  plain.ldb = p.ldb, plain.stride_b = p.stride_b;
  product_.epilogue = {};
  if (widens_a(p, types)) place_a();
  if (widens_b(p, types)) place_b();
  place_sums();
}

void HostPass::place_a() {
  const Problem& p = call_.problem;
  const std::int64_t each = span_elements(stored_a(p), p.lda);
  const std::int64_t count = matrices(p, p.stride_a, call_.a_array);
  product_.problem.stride_a = count == 1 ? 0 : stored_a(p).rows * p.lda;
  product_.a = nullptr;
  product_.a_array = nullptr;
  if (!reads_operands(p)) return;
  wide_a_ = uninitialized<float>((count - 1) * product_.problem.stride_a + each);
  product_.a = wide_a_.get();
}

void HostPass::place_b() {
  const Problem& p = call_.problem;
  Problem& plain = product_.problem;
  const bool packed = quantized(p.types);
  const std::int64_t count = packed ? 1 : matrices(p, p.stride_b, call_.b_array);
  if (packed) plain.ldb = std::max<std::int64_t>(p.k, 1);
  plain.stride_b = count == 1 ? 0 : stored_b(plain).rows * plain.ldb;
  product_.b = nullptr;
  product_.b_array = nullptr;
  product_.scales = product_.zero_points = nullptr;
  if (!reads_operands(p)) return;
  wide_b_ = uninitialized<float>((count - 1) * plain.stride_b +
                                 span_elements(stored_b(plain), plain.ldb));
  product_.b = wide_b_.get();
}

// The pass reads the old C, and a residual that is C, after the product is computed.
void HostPass::place_sums() {
  const Problem& p = call_.problem;
  Problem& plain = product_.problem;
  const bool in_place = plain.types.c == p.types.c && p.beta == 0.0f && !residual_is_c(call_);
  if (in_place) {
    plain.ldc = p.ldc, plain.stride_c = p.stride_c;
    return;
  }
  sums_ = uninitialized<std::byte>(p.m * p.n * p.batch * bytes_of(plain.types.c));
  product_.c = sums_.get();
  product_.c_array = nullptr;
}

void HostPass::prepare() {
  if (prepared_) return;
  prepared_ = true;
  const Problem& p = call_.problem;
  const Problem& plain = product_.problem;
  if (wide_a_ != nullptr)
    for (std::int64_t i = 0; i < matrices(plain, plain.stride_a, nullptr); ++i)
      widen_matrix(p.types.a, stored_a(p), p.lda, call_.a_of(i),
                   wide_a_.get() + i * plain.stride_a);
  if (wide_b_ == nullptr) return;
  if (quantized(p.types)) return dequantize_matrix(p, call_.quantized_b(), wide_b_.get());
  for (std::int64_t i = 0; i < matrices(plain, plain.stride_b, nullptr); ++i)
    widen_matrix(p.types.a, stored_b(p), p.ldb, call_.b_of(i), wide_b_.get() + i * plain.stride_b);
}

void HostPass::finish() {
  const Problem& p = call_.problem;
  const Problem& plain = product_.problem;
  const bool integers = plain.types.c == DataType::kI32;
  const auto scaled = integers ? uninitialized<float>(p.m * p.n) : nullptr;
  const auto pass = [&](std::int64_t i, auto* sums) {
    apply_epilogue(p, call_.epilogue, i, sums, plain.ldc, call_.c_of(i));
  };
  for (std::int64_t i = 0; i < p.batch; ++i) {
    void* const sums = product_.c_of(i);
    if (is_float64(p.types)) {
      pass(i, static_cast<double*>(sums));
    } else if (!integers) {
      pass(i, static_cast<float*>(sums));
    } else {
      const auto* const whole = static_cast<const std::int32_t*>(sums);
      std::transform(whole, whole + p.m * p.n, scaled.get(), [&](std::int32_t x) {
        return static_cast<float>(p.alpha) * static_cast<float>(x);
      });
      pass(i, scaled.get());
    }
  }
}

}  // namespace rooftile
