// Tests which scales and zero points of a quantised B a call accepts.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "core/error.h"
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

  /// A call accepts every matrix that quantize() returns, and its result lies within the error
  /// bound. What lies beyond a format's blocks is refused by quantize().
  void expect_taken(const Types& types) {
    const std::int64_t n = *rc::gen::inRange(1, 5), k = *rc::gen::inRange(1, 300);
    const std::vector<float> weights = random_weights(types, n, k);
    QuantizedMatrix matrix;
    try {
      matrix = quantize(types, n, k, weights.data(), k, 1);
    } catch (const Error&) {
      RC_ASSERT(has_block_format(types));
      return;
    }
    Product product(packed_problem(2, n, k, Transpose::kNo, Transpose::kYes, 1, types));
    product.stored_b_elements.assign(matrix.values.begin(), matrix.values.end());
    product.quantization = {matrix.scales, matrix.zero_points};
    // Weights may be float32's largest numbers. A smaller A keeps the sums from overflow.
    if (types.a != DataType::kF16) {
      for (float& x : product.a) x *= 0x1p-10f;
      narrow(types.a, product.a.data(), product.stored_a_elements.data(),
             static_cast<std::int64_t>(product.a.size()));
    }
    const rooftile_quantization quantization = quantization_of(product);
    rooftile_gemm_args args = gemm_args_of(product);
    args.quantization = &quantization;
    RC_ASSERT(rooftile_gemm(context_, &args) == ROOFTILE_OK);
    product.expect_right();
    RC_ASSERT(!HasFailure());
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
  constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN(),
                  kInfinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(call("f16xq4b16zf_f16", kNotANumber, 7), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the scale of b is NaN at block 1 of row 2"));
  EXPECT_EQ(call("f16xq4b16zf_f16", 1, kNotANumber), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the zero point of b is NaN at block 1 of row 2"));
  EXPECT_EQ(call("f16xq4b16zf_f16", 0, kInfinite), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(call("f16xq4b16_f16", kInfinite, 0), ROOFTILE_INVALID_ARGUMENT);
}

// Float16 sums would add a * (q - zero point) before scaling, so that float32 sums are used.
TEST_F(QuantizedApi, SumsInHalfPrecisionArePermittedAndNotMade) {
  for (const float zero : {-30.0f, -31.0f, 1000.0f})
    EXPECT_EQ(call("f16xq4b16zf_f16", 1, zero, true), ROOFTILE_OK) << rooftile_last_error();
}

Types random_block_types() {
  const std::span<const BlockLayout> layouts = block_layouts();
  const auto format = *rc::gen::inRange<std::size_t>(0, layouts.size());
  return {.a = *rc::gen::element(DataType::kF32, DataType::kBf16, DataType::kF16),
          .b = quantization_of(layouts[format].format),
          .c = *rc::gen::element(DataType::kF32, DataType::kF16)};
}

RC_GTEST_FIXTURE_PROP(QuantizedApi, TakesWhateverQuantizeMakes, ()) {
  expect_taken(random_quantized_types());
}

RC_GTEST_FIXTURE_PROP(QuantizedApi, TakesWhateverBlocksQuantizeMakes, ()) {
  Types types = random_block_types();
  types.c = DataType::kF32;
  expect_taken(types);
}

/// The last block of a row is a part of one.
RC_GTEST_FIXTURE_PROP(QuantizedApi, BlocksOfEveryFormatAreMultiplied, ()) {
  Product product(packed_problem(2, *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 600),
                                 Transpose::kNo, Transpose::kYes, *rc::gen::inRange(1, 3),
                                 random_block_types()));
  const rooftile_quantization quantization = quantization_of(product);
  rooftile_gemm_args args = gemm_args_of(product);
  args.quantization = &quantization;
  RC_ASSERT(rooftile_gemm(context_, &args) == ROOFTILE_OK);
  product.expect_right();
  RC_ASSERT(!HasFailure());
}

class BlocksApi : public CApi {
 protected:
  /// Expects that the call is refused after `spoil` has changed it.
  void expect_refused_blocks(const char* types, const std::string& message,
                             const std::function<void(Product&, rooftile_quantization&)>& spoil) {
    Product product(
        packed_problem(2, 3, 512, Transpose::kNo, Transpose::kYes, 1, parse_types(types)));
    rooftile_quantization quantization = quantization_of(product);
    spoil(product, quantization);
    rooftile_gemm_args args = gemm_args_of(product);
    args.quantization = &quantization;
    EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT) << message;
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
    EXPECT_TRUE(product.c_is_untouched());
  }
};

TEST_F(BlocksApi, WrongBlocksAreRefused) {
  const auto set_byte = [](std::size_t at, int value) {
    return [=](Product& product, rooftile_quantization&) {
      product.stored_b_elements[at] = static_cast<char>(value);
    };
  };
  // The upper byte of a half is 0x7c for infinity; the third block of Q4_K begins the second row.
  expect_refused_blocks("f32xq4_k", "the scale or minimum of b is not finite at block 0 of row 1",
                        set_byte(2 * 144 + 1, 0x7f));
  expect_refused_blocks("f32xq5_k", "the scale or minimum of b is not finite at block 1 of row 0",
                        set_byte(176 + 3, 0x7f));
  expect_refused_blocks("f32xmxfp4", "the scale of b is not finite at block 15 of row 2",
                        set_byte(47 * 17, 0xff));
  expect_refused_blocks("f16xq8_0", "up to 65504: use A in f32 or bf16", set_byte(1, 0x78));
  expect_refused_blocks("f32xq6_k", "quantization->values_bytes is 1259, but n and k need 1260",
                        [](Product&, rooftile_quantization& q) { --q.values_bytes; });
  expect_refused_blocks("f32xq6_k", "quantization->format is 15",
                        [](Product&, rooftile_quantization& q) { q.format = 15; });
  expect_refused_blocks("f32xq4_0", "q4_0 has blocks of 32 values of 4 bits",
                        [](Product&, rooftile_quantization& q) { q.block = 64; });
  expect_refused_blocks("f32xq4_0", "quantization->scales_bytes is 4, but n and k need 0",
                        [](Product&, rooftile_quantization& q) { q.scales_bytes = 4; });
}

TEST_F(BlocksApi, TheFormatSaysBitsAndBlock) {
  Product product(
      packed_problem(2, 3, 512, Transpose::kNo, Transpose::kYes, 1, parse_types("f32xq5_k")));
  rooftile_quantization quantization = quantization_of(product);
  quantization.bits = quantization.block = 0;
  rooftile_gemm_args args = gemm_args_of(product);
  args.quantization = &quantization;
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  product.expect_right();
}

}  // namespace
}  // namespace rooftile
