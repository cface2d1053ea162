// Which scales and zero points of a quantised B a call takes.
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

/// The largest float16 number that is not above a positive one.
float half_not_above(double x) {
  const std::uint16_t bits = to_f16(static_cast<float>(x));
  return from_f16(static_cast<double>(from_f16(bits)) > x ? static_cast<std::uint16_t>(bits - 1)
                                                          : bits);
}

/// Beside a float16 A: 6 rows of 3 blocks with scale 1 and the zero points that block 1 of row 2 is
/// tried with.
class QuantizedApi : public CApi {
 protected:
  /// The call's status with this scale and zero point (of the kind that the types say) in that
  /// block.
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
    std::vector<std::uint8_t> packed(18, 0x77);  // a byte a block, or half of one
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
  /// The largest scale that float16 weights leave is taken, with either sign; the next one is not.
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

// They would be of a * (q - zero point), before it is scaled.
TEST_F(QuantizedApi, SumsInHalfPrecisionArePermittedAndNotMade) {
  for (const float zero : {-30.0f, -31.0f, 1000.0f})
    EXPECT_EQ(call("f16xq4b16zf_f16", 1, zero, true), ROOFTILE_OK) << rooftile_last_error();
}

/// What quantize() makes is taken by a call, whose result lies within the bound.
RC_GTEST_FIXTURE_PROP(QuantizedApi, TakesWhateverQuantizeMakes, ()) {
  const Types types = random_quantized_types();
  const std::int64_t n = *rc::gen::inRange(1, 5), k = *rc::gen::inRange(1, 200);
  const std::vector<float> weights = random_weights(types, n, k);
  const QuantizedMatrix matrix = quantize(types, n, k, weights.data(), k, 1);
  Product product(packed_problem(2, n, k, Transpose::kNo, Transpose::kYes, 1, types));
  product.stored_b_elements.assign(matrix.values.begin(), matrix.values.end());
  product.quantization = {matrix.scales, matrix.zero_points};
  // Sums of float32's largest numbers must not overflow.
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
