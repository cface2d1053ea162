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

std::unique_ptr<std::byte[]> HostPass::place(const Extent& extent, std::int64_t count,
                                             std::int64_t& ld, std::int64_t& stride) const {
  ld = std::max<std::int64_t>(extent.columns, 1);
  stride = count == 1 ? 0 : extent.rows * extent.columns;
  if (!reads_operands(call_.problem)) return nullptr;
  return uninitialized<std::byte>(count * extent.rows * extent.columns *
                                  bytes_of(product_.problem.types.a));
}

void HostPass::place_a() {
  const Problem& p = call_.problem;
  Problem& plain = product_.problem;
  wide_a_ = place(stored_a(p), matrices(p, p.stride_a, call_.a_array), plain.lda, plain.stride_a);
  product_.a = wide_a_.get();
  product_.a_array = nullptr;
}

void HostPass::place_b() {
  const Problem& p = call_.problem;
  Problem& plain = product_.problem;
  const std::int64_t count = quantized(p.types) ? 1 : matrices(p, p.stride_b, call_.b_array);
  wide_b_ = place(stored_b(plain), count, plain.ldb, plain.stride_b);
  product_.b = wide_b_.get();
  product_.b_array = nullptr;
  product_.scales = product_.zero_points = nullptr;
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
  if (is_float64(product_.problem.types))
    widen_operands<double>();
  else
    widen_operands<float>();
}

template <typename Real>
void HostPass::widen_operands() {
  const Problem& p = call_.problem;
  const Problem& plain = product_.problem;
  const auto widen_all = [&](Extent extent, std::int64_t ld, std::int64_t stride, std::byte* wide,
                             const auto& matrix) {
    auto* to = reinterpret_cast<Real*>(wide);
    for (std::int64_t i = 0; i < matrices(plain, stride, nullptr); ++i, to += stride)
      widen_rows(p.types.a, extent, matrix(i), ld, to, extent.columns);
  };
  if (wide_a_ != nullptr)
    widen_all(stored_a(p), p.lda, plain.stride_a, wide_a_.get(),
              [&](std::int64_t i) { return call_.a_of(i); });
  if (wide_b_ == nullptr) return;
  if (quantized(p.types))
    return dequantize_matrix(p, call_.quantized_b(), reinterpret_cast<Real*>(wide_b_.get()));
  widen_all(stored_b(p), p.ldb, plain.stride_b, wide_b_.get(),
            [&](std::int64_t i) { return call_.b_of(i); });
}

void HostPass::finish() {
  if (sum_type(call_.problem.types) == DataType::kF64)
    make_c<double>();
  else
    make_c<float>();
}

template <typename Real>
void HostPass::make_c() {
  const Problem& p = call_.problem;
  const Problem& plain = product_.problem;
  const bool integers = plain.types.c == DataType::kI32;
  const auto scaled = integers ? uninitialized<Real>(p.m * p.n) : nullptr;
  for (std::int64_t i = 0; i < p.batch; ++i) {
    void* const sums = product_.c_of(i);
    if (integers)
      std::transform(static_cast<const std::int32_t*>(sums),
                     static_cast<const std::int32_t*>(sums) + p.m * p.n, scaled.get(),
                     [&](std::int32_t x) { return Real(p.alpha) * Real(x); });
    apply_epilogue(p, call_.epilogue, i, integers ? scaled.get() : static_cast<Real*>(sums),
                   plain.ldc, call_.c_of(i));
  }
}

}  // namespace rooftile
