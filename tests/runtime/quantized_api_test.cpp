// Tests which scales and zero points of a quantised B a call accepts.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/half.h"
#include "tests/core/random_weights.h"
#include "tests/support/c_api_fixture.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

/// Returns the largest float16 number that is not above x, which must be positive.
float half_not_above(double x) {
  const std::uint16_t bits = to_f16(static_cast<float>(x));
  return from_f16(static_cast<double>(from_f16(bits)) > x ? static_cast<std::uint16_t>(bits - 1)
                                                          : bits);
}

/// B has 6 rows of 3 blocks with scale 1 and zero point 7, except for block 1 of row 2, which gets
/// the scale and the zero point under test.
class QuantizedApi : public CApi {
 protected:
  /// Returns the status of a call in which that block has this scale and zero point. The types say
  /// whether the zero point is an integer or a float.
  rooftile_status call(const char* types, float scale, float zero, bool f16_sums = false) {
    Product product(
        padded_problem(5, 6, 37, Transpose::kNo, Transpose::kYes, 1.0f, 0.0f, parse_types(types)));
    rooftile_quantization quantization = quantization_of(product);
    rooftile_gemm_args args = gemm_args_of(product);
    args.quantization = &quantization;
    args.f16_sums = f16_sums ? 1 : 0;
    std::vector<std::uint16_t> scales(18, to_f16(1)), zeros(18, to_f16(7));
    scales[7] = to_f16(scale);
    zeros[7] = to_f16(zero);
    std::vector<std::uint8_t> packed(18, 0x77);  // One byte for each block, or half a byte.
    const auto value = static_cast<std::uint8_t>(zero);
    if (product.problem.types.b.bits == 8)
      packed[7] = value;
    else
      packed[2 * 2] = static_cast<std::uint8_t>(7 | value << 4);
    quantization.scales = scales.data();
    quantization.zero_points = product.problem.types.b.zero_point == ZeroPoint::kFloat
                                   ? static_cast<const void*>(zeros.data())
                                   : packed.data();
    const rooftile_status status = rooftile_gemm(context_, &args);
    if (status != ROOFTILE_OK) {
      EXPECT_TRUE(product.c_is_untouched());
    }
    return status;
  }
  /// Expects that the largest scale for which weights fit into float16 is accepted with either
  /// sign, and that the next larger one is refused.
  void expect_largest_scale(const char* types, float zero, double distance) {
    const float largest = half_not_above(65504 / distance);
    const float beyond = from_f16(static_cast<std::uint16_t>(to_f16(largest) + 1));
    EXPECT_EQ(call(types, largest, zero), ROOFTILE_OK) << types << rooftile_last_error();
    EXPECT_EQ(call(types, -largest, zero), ROOFTILE_OK) << types << rooftile_last_error();
    EXPECT_EQ(call(types, beyond, zero), ROOFTILE_INVALID_ARGUMENT) << types;
    EXPECT_THAT(rooftile_last_error(), HasSubstr(fmt::format("the scale of b is {} at block 1 of "
                                                             "row 2",
                                                             beyond)));
    EXPECT_EQ(call(types, -beyond, zero), ROOFTILE_INVALID_ARGUMENT) << types;
  }
};

TEST_F(QuantizedApi, TheLargestScaleFollowsFromTheZeroPoint) {
  expect_largest_scale("f16xq4b16_f16", 0, 8);
  expect_largest_scale("f16xq8b16_f16", 0, 128);
  for (const float zero : {0.0f, 7.0f, 8.0f, 15.0f})
    expect_largest_scale("f16xq4b16z_f16", zero, std::max(zero, 15 - zero));
  for (const float zero : {0.0f, 100.0f, 128.0f, 255.0f})
    expect_largest_scale("f16xq8b16z_f16", zero, std::max(zero, 255 - zero));
  for (const float zero : {-2.5f, 0.0f, 7.5f, 31.0f, 1000.0f, -2000.0f})
    expect_largest_scale("f16xq4b16zf_f16", zero,
                         static_cast<double>(std::max(std::abs(zero), std::abs(15 - zero))));
}

TEST_F(QuantizedApi, RefusesNumbersThatAreNone) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(call("f16xq4b16zf_f16", kNan, 7), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the scale of b is NaN at block 1 of row 2"));
  EXPECT_EQ(call("f16xq4b16zf_f16", 1, kNan), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the zero point of b is NaN at block 1 of row 2"));
  EXPECT_EQ(call("f16xq4b16zf_f16", 0, kInfinity), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(call("f16xq4b16_f16", kInfinity, 0), ROOFTILE_INVALID_ARGUMENT);
}

// Float16 sums would add a * (q - zero point) before scaling, so that float32 sums are used.
TEST_F(QuantizedApi, SumsInHalfPrecisionArePermittedAndNotMade) {
  for (const float zero : {-30.0f, -31.0f, 1000.0f})
    EXPECT_EQ(call("f16xq4b16zf_f16", 1, zero, true), ROOFTILE_OK) << rooftile_last_error();
}

/// A call accepts every matrix that quantize() returns, and its result lies within the error
/// bound.
RC_GTEST_FIXTURE_PROP(QuantizedApi, TakesWhateverQuantizeMakes, ()) {
  const Types types = random_quantized_types();
  const std::int64_t n = *rc::gen::inRange(1, 5), k = *rc::gen::inRange(1, 200);
  const std::vector<float> weights = random_weights(types, n, k);
  const QuantizedMatrix matrix = quantize(types, n, k, weights.data(), k, 1);
  Product product(packed_problem(2, n, k, Transpose::kNo, Transpose::kYes, 1, types));
  product.stored_b_elements.assign(matrix.values.begin(), matrix.values.end());
  product.quantization = {matrix.scales, matrix.zero_points};
  // Weights may be float32's largest numbers. A smaller A keeps the sums from overflow.
  if (types.a == DataType::kF32) {
    for (float& x : product.a) x *= 0x1p-10f;
    std::memcpy(product.stored_a_elements.data(), product.a.data(),
                product.stored_a_elements.size());
  }
  const rooftile_quantization quantization = quantization_of(product);
  rooftile_gemm_args args = gemm_args_of(product);
  args.quantization = &quantization;
  RC_ASSERT(rooftile_gemm(context_, &args) == ROOFTILE_OK);
  product.expect_right();
  RC_ASSERT(!HasFailure());
}

}  // namespace
}  // namespace rooftile
