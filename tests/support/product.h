// The operands of a GEMM for the tests of the runtime: padded rows, canaries around C, and a check
// against float64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/half.h"
#include "core/problem.h"
#include "runtime/verify/random_operand.h"
#include "runtime/verify/reference.h"

namespace rooftile {

inline constexpr std::uint32_t kCanary = 0x7fc0beef;

/// Row-major operands of a problem. Padding is NaN (0 for integers), and canaries surround C. a, b
/// and c hold the operands of float32 problems; the stored_ members hold elements of the problem's
/// types.
struct Product {
  Problem problem;
  std::vector<float> a, b, c, c_before;
  std::vector<char> stored_a_elements, stored_b_elements, stored_c_elements, stored_c_before;
  RandomQuantization quantization;
  std::vector<char> row_scale, column_scale, bias, residual;  ///< Elements of epilogue_type().

  explicit Product(const Problem& p) : problem(p) {
    Random random(static_cast<std::uint64_t>(p.m * 131 + p.n * 17 + p.k));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    fill(a, stored_a(p), p.lda, p.stride_a, random, nan);
    fill(b, stored_b(p), p.ldb, p.stride_b, random, nan);
    if (p.types.a == DataType::kI8)
      for (std::vector<float>* x : {&a, &b})
        for (float& value : *x) value *= 127;
    if (p.types.a == DataType::kU8)
      for (std::vector<float>* x : {&a, &b})
        for (float& value : *x) value = (value + 1) * 127.5f;
    stored_a_elements = stored(p.types.a, a);
    stored_b_elements =
        quantized(p.types) ? random_b(p.types, p.n * p.ldb, random) : stored(p.types.a, b);
    quantization = random_quantization(p, random);
    fill(c, {p.m, p.n}, p.ldc, p.stride_c, random, std::bit_cast<float>(kCanary));
    c_before = c;
    if (p.types.c == DataType::kI32)
      for (float& value : c_before) value *= 1000;
    stored_c_before = stored_c_elements = stored(p.types.c, c_before);
    c_before = c;
    std::vector<float> values(static_cast<std::size_t>(std::max(p.m, p.n)));
    for (std::vector<char>* x : {&row_scale, &column_scale, &bias}) {
      std::generate(values.begin(), values.end(), [&] { return random.symmetric(); });
      *x = stored(epilogue_type(p.types), values);
    }
    fill(values, {p.m, p.n}, ld_residual(), stride_residual(), random, nan);
    residual = stored(epilogue_type(p.types), values);
  }
  /// Gives the residual the values of C, for calls whose residual is C.
  void copy_c_to_residual() {
    const Problem& p = problem;
    for (std::int64_t row = 0; row < p.m; ++row) {
      std::vector<double> values(static_cast<std::size_t>(p.n));
      const std::int64_t bytes = bytes_of(p.types.c), to = bytes_of(epilogue_type(p.types));
      widen(p.types.c, static_cast<const char*>(c_data()) + row * p.ldc * bytes, values.data(),
            p.n);
      narrow(epilogue_type(p.types), values.data(), residual.data() + row * ld_residual() * to,
             p.n);
    }
  }
  std::int64_t ld_residual() const { return problem.n + 2; }
  std::int64_t stride_residual() const { return problem.m * ld_residual() + 1; }

  /// Pointer to C for a call.
  void* c_data() {
    return problem.types.c == DataType::kF32 ? static_cast<void*>(c.data())
                                             : stored_c_elements.data();
  }

  bool c_is_untouched() const {
    if (stored_c_elements != stored_c_before) return false;
    for (std::size_t i = 0; i < c.size(); ++i)
      if (std::bit_cast<std::uint32_t>(c[i]) != std::bit_cast<std::uint32_t>(c_before[i]))
        return false;
    return true;
  }

  /// Expects every element within its error bound and all other memory unchanged.
  void expect_right() const {
    const Problem& p = problem;
    const Problem one = one_product(p);
    const std::int64_t bytes_c = bytes_of(p.types.c);
    const char* const after = p.types.c == DataType::kF32 ? reinterpret_cast<const char*>(c.data())
                                                          : stored_c_elements.data();
    const char* const before = p.types.c == DataType::kF32
                                   ? reinterpret_cast<const char*>(c_before.data())
                                   : stored_c_before.data();
    for (std::int64_t at = 0; at < static_cast<std::int64_t>(c.size()); ++at) {
      const std::int64_t i = p.batch == 1 ? 0 : std::min(at / p.stride_c, p.batch - 1);
      const std::int64_t row = (at - i * p.stride_c) / p.ldc,
                         column = (at - i * p.stride_c) % p.ldc;
      if (row >= p.m || column >= p.n) {
        ASSERT_TRUE(
            std::equal(after + at * bytes_c, after + (at + 1) * bytes_c, before + at * bytes_c))
            << "changed outside of C at " << row << ", " << column;
        continue;
      }
      const ReferenceOperands operands = {
          data({p.types.a}, a, stored_a_elements) + i * p.stride_a * bytes_of(p.types.a),
          data(p.types, b, stored_b_elements) + bytes_of_b(p.types, i * p.stride_b),
          quantization.scales.data(), quantization.zero_points.data()};
      const ReferenceElement expected = reference_element(
          one, operands, element(p.types.c, before, at), values(i, row, column), row, column);
      const double got = element(p.types.c, after, at);
      ASSERT_LE(error_ratio(p, expected, got), 1.0)
          << to_string(p) << " matrix " << i << " at " << row << ", " << column << ": " << got
          << " instead of " << expected.value;
    }
  }

 private:
  static const char* data(const Types& types, const std::vector<float>& floats,
                          const std::vector<char>& stored_elements) {
    const bool plain = types.a == DataType::kF32 && !quantized(types);
    return plain ? reinterpret_cast<const char*>(floats.data()) : stored_elements.data();
  }
  /// Rounds x to the problem's type and stores the rounded value in x.
  static std::vector<char> stored(DataType type, std::vector<float>& x) {
    const auto count = static_cast<std::int64_t>(x.size());
    std::vector<char> elements(static_cast<std::size_t>(count * bytes_of(type)));
    narrow(type, x.data(), elements.data(), count);
    if (type == DataType::kF64)  // values that float32 does not hold
      for (std::int64_t i = 0; i < count; ++i)
        reinterpret_cast<double*>(elements.data())[i] *= 1 + 0x1p-40;
    widen(type, elements.data(), x.data(), count);
    return elements;
  }
  EpilogueValues values(std::int64_t i, std::int64_t row, std::int64_t column) const {
    const auto at = [type = epilogue_type(problem.types)](const std::vector<char>& x,
                                                          std::int64_t index) {
      return element(type, x.data(), index);
    };
    return {.row_scale = at(row_scale, row),
            .column_scale = at(column_scale, column),
            .bias = at(bias, problem.epilogue.bias == Bias::kRow ? row : column),
            .residual = at(residual, i * stride_residual() + row * ld_residual() + column)};
  }

  void fill(std::vector<float>& x, Extent extent, std::int64_t ld, std::int64_t stride,
            Random& random, float outside) const {
    x.assign(static_cast<std::size_t>((problem.batch - 1) * stride + extent.rows * ld + 8),
             outside);
    for (std::int64_t i = 0; i < problem.batch; ++i)
      for (std::int64_t r = 0; r < extent.rows; ++r)
        for (std::int64_t j = 0; j < extent.columns; ++j)
          x[static_cast<std::size_t>(i * stride + r * ld + j)] = random.symmetric();
  }
};

/// Types other than float32: one of each kind that runs on every device.
inline const std::vector<std::string>& other_types() {
  static const std::vector<std::string> types = {"f16",
                                                 "bf16",
                                                 "f32_f16",
                                                 "f16_f16",
                                                 "bf16_bf16",
                                                 "f16_bf16",
                                                 "i8_i32",
                                                 "i8",
                                                 "i8_f16",
                                                 "u8_i32",
                                                 "u8",
                                                 "u8_bf16",
                                                 "f32xq4b32",
                                                 "f16xq4b16_f16",
                                                 "f32xq4b32z",
                                                 "f16xq4b64zf_f16",
                                                 "f32xq8b16z",
                                                 "f16xq8b128_f16",
                                                 "f32xq8b32zf",
                                                 "f32xq4_0",
                                                 "bf16xq5_0_f16",
                                                 "f16xq8_0",
                                                 "f32xq4_k",
                                                 "f16xq5_k_f16",
                                                 "f32xq6_k",
                                                 "bf16xmxfp4",
                                                 "f32xq4_1",
                                                 "f16xq3_k_f16",
                                                 "f64"};
  return types;
}
/// Whether the device computes these types, which are float32 or among the above.
inline bool computes(const DeviceProfile& device, const Types& types) {
  return device.limits.float64_arithmetic || sum_type(types) != DataType::kF64;
}
/// Those that the device computes.
inline std::vector<std::string> other_types_of(const DeviceProfile& device) {
  std::vector<std::string> types = other_types();
  std::erase_if(types, [&](const std::string& t) { return !computes(device, parse_types(t)); });
  return types;
}

/// p with an epilogue, whose clamp has limits; of float64 operands one that float32 does not hold.
inline Problem with_epilogue(Problem p, const Epilogue& epilogue) {
  p.epilogue = epilogue;
  p.epilogue.low = is_float64(p.types) ? -1.0 / 3 : -0.5;
  p.epilogue.high = 2;
  return p;
}

inline Problem padded_problem(std::int64_t m, std::int64_t n, std::int64_t k, Transpose trans_a,
                              Transpose trans_b, float alpha = 1.0f, float beta = 0.0f,
                              const Types& types = {}) {
  if (quantized(types)) trans_b = Transpose::kYes;
  Problem p = packed_problem(m, n, k, trans_a, trans_b, 1, types);
  p.lda += 3;
  if (!quantized(types)) p.ldb += 5;
  p.ldc += 1;
  p.alpha = alpha;
  p.beta = beta;
  return p;
}

/// Returns a batch with gaps between its matrices. With shared_b all matrices have the same B.
inline Problem padded_batch(Problem p, std::int64_t batch, bool shared_b) {
  p.batch = batch;
  p.stride_a = stored_a(p).rows * p.lda + 7;
  p.stride_b = shared_b || quantized(p.types) ? 0 : stored_b(p).rows * p.ldb + 2;
  p.stride_c = p.m * p.ldc + 1;
  return p;
}

}  // namespace rooftile
