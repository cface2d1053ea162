#include "runtime/host/host_pass.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/host/host_epilogue.h"
#include "runtime/host/host_operands.h"
#include "runtime/host/host_result.h"

namespace rooftile {
namespace {

/// Whether the product reads A and B.
bool reads_operands(const Problem& p) { return p.k > 0 && p.alpha != 0.0f; }

/// Products of the batch with an operand of their own.
std::int64_t matrices(const Problem& p, std::int64_t stride, const void* const* array) {
  return array == nullptr && stride == 0 ? 1 : p.batch;
}

bool widens_a(const Problem& p, const Types& types) { return p.types.a != types.a; }
bool widens_b(const Problem& p, const Types& types) {
  return widens_a(p, types) || quantized(p.types) != quantized(types);
}

}  // namespace

std::optional<Types> types_before_pass(const Problem& p,
                                       const std::function<bool(const Problem&)>& is_tuned) {
  Types same_operands = p.types;
  same_operands.c = sum_type({.a = p.types.a});
  same_operands.f16_sums = false;
  if (is_tuned(problem_before_pass(p, same_operands))) return same_operands;
  // Sums of 8-bit integers are exact, and in float32 they are not. An int32 C has no epilogue.
  if (!is_8_bit(p.types.a) && is_tuned(problem_before_pass(p, {}))) return Types{};
  return std::nullopt;
}

Problem problem_before_pass(const Problem& p, const Types& types) {
  Problem plain = packed_problem(p.m, p.n, p.k, p.trans_a, p.trans_b, p.batch, types);
  // The kernels' integer sums are scaled by the host.
  plain.alpha = types.c == DataType::kI32 && p.alpha != 0.0f ? 1.0f : p.alpha;
  return plain;
}

std::string_view operands_of_pass(const Problem& p, const Types& types) {
  if (!reads_operands(p) || !widens_b(p, types)) return "c";
  return widens_a(p, types) ? "a, b and c" : "b and c";
}

double host_pass_bytes(const Problem& p, const Types& types) {
  const auto both = [](std::int64_t elements, double bytes_each) {
    return static_cast<double>(elements) * (bytes_each + sizeof(float));
  };
  const auto bytes_each = [](DataType type) { return static_cast<double>(bytes_of(type)); };
  const std::int64_t elements_c = p.m * p.n * p.batch;
  double bytes = 0;
  if (reads_operands(p) && widens_a(p, types))
    bytes += both(p.m * p.k * (p.stride_a == 0 ? 1 : p.batch), bytes_each(p.types.a));
  if (reads_operands(p) && widens_b(p, types))
    bytes += both(p.n * p.k * (p.stride_b == 0 ? 1 : p.batch), bytes_per_element_b(p.types));
  bytes += both(elements_c, bytes_each(p.types.c));  // sums are read, and C is written
  if (p.beta != 0.0f) bytes += static_cast<double>(elements_c * bytes_of(p.types.c));
  if (p.epilogue.residual) bytes += static_cast<double>(elements_c) * sizeof(float);
  return bytes;
}

HostPass::HostPass(const GemmCall& call, const Types& types) : call_(call), product_(call) {
  const Problem& p = call.problem;
  Problem& plain = product_.problem;
  plain = problem_before_pass(p, types);
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
  wide_a_ = uninitialized_floats((count - 1) * product_.problem.stride_a + each);
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
  wide_b_ = uninitialized_floats((count - 1) * plain.stride_b +
                                 span_elements(stored_b(plain), plain.ldb));
  product_.b = wide_b_.get();
}

// The pass reads the old C, and a residual that is C, after the product is computed.
void HostPass::place_sums() {
  const Problem& p = call_.problem;
  Problem& plain = product_.problem;
  const bool in_place = plain.types.c == p.types.c && p.beta == 0.0f &&
                        !(p.epilogue.residual && residual_is_c(call_));
  if (in_place) {
    plain.ldc = p.ldc, plain.stride_c = p.stride_c;
    return;
  }
  sums_ = uninitialized_floats(p.m * p.n * p.batch);
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
  WideResult result(p);
  Problem described = p;  // the epilogue's pass sees this C
  described.ldc = result.ld();
  const auto scaled = integers ? uninitialized_floats(p.m * p.n) : nullptr;
  for (std::int64_t i = 0; i < p.batch; ++i) {
    const void* const from = product_.c_of(i);
    if (integers)
      std::transform(static_cast<const std::int32_t*>(from),
                     static_cast<const std::int32_t*>(from) + p.m * p.n, scaled.get(),
                     [&](std::int32_t x) { return p.alpha * static_cast<float>(x); });
    float* const c = result.begin(call_.c_of(i));
    apply_epilogue(described, call_.epilogue, i,
                   integers ? scaled.get() : static_cast<const float*>(from), plain.ldc, c);
    result.end(call_.c_of(i));
  }
}

}  // namespace rooftile
