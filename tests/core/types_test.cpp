#include "core/types.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "core/error.h"
#include "core/problem.h"
#include "tests/support/refusal.h"
#include "tests/support/with.h"

namespace rooftile {
namespace {

using testing::HasSubstr;

std::string complaint(const Types& t) {
  return message_of([&] { validate(t); }, ErrorCode::kInvalidArgument);
}

Types any_types() {
  Types t;
  t.a = *rc::gen::element(DataType::kF32, DataType::kF16, DataType::kBf16, DataType::kI8,
                          DataType::kU8);
  t.c = *rc::gen::element(DataType::kF32, DataType::kF16, DataType::kBf16, DataType::kI32);
  t.sums = *rc::gen::element(Sums::kUsual, Sums::kF16);
  t.rounding = *rc::gen::element(Rounding::kNone, Rounding::kHalf);
  if (*rc::gen::arbitrary<bool>())
    t.b = {
        .bits = *rc::gen::element(4, 8),
        .block = *rc::gen::element(16, 32, 64, 128, 256),
        .zero_point = *rc::gen::element(ZeroPoint::kMiddle, ZeroPoint::kPacked, ZeroPoint::kFloat)};
  return t;
}

RC_GTEST_PROP(Types, TextNamesThemAll, ()) {
  const Types t = any_types();
  RC_PRE(complaint(t).empty());
  RC_ASSERT(parse_types(to_string(t)) == t);
}

TEST(Types, TextIsWhatTheDocumentationSays) {
  EXPECT_EQ(to_string(Types{}), "f32");
  EXPECT_EQ(to_string(Types{.a = DataType::kI8, .c = DataType::kI32}), "i8_i32");
  EXPECT_EQ(to_string(Types{.a = DataType::kU8, .c = DataType::kI32}), "u8_i32");
  EXPECT_EQ(to_string(Types{.a = DataType::kU8}), "u8");
  EXPECT_EQ(to_string(Types{.a = DataType::kF16, .c = DataType::kF16, .sums = Sums::kF16}),
            "f16_f16_sum_f16");
  EXPECT_EQ(to_string(Types{.a = DataType::kF16,
                            .b = {.bits = 4, .block = 32, .zero_point = ZeroPoint::kPacked},
                            .c = DataType::kF16}),
            "f16xq4b32z_f16");
  EXPECT_EQ(parse_types("f32xq8b128zf").b.zero_point, ZeroPoint::kFloat);
}

TEST(Types, OtherTextsAreRefusedWithHowToWriteThem) {
  for (const char* text : {"", "f8", "f32_", "f32_f8", "f16xq4", "f16xq4b32q", "f16 ", "xq4b32",
                           "f32_f16_sum_f32", "f16xqb32", "f32__f16"})
    EXPECT_THAT(message_of([&] { parse_types(text); }), HasSubstr("written as")) << text;
}

TEST(Types, Float64GoesWithItselfAlone) {
  const Types float64 = {.a = DataType::kF64, .c = DataType::kF64};
  EXPECT_EQ(parse_types("f64"), float64);
  EXPECT_EQ(parse_types("f64_f64"), float64);
  EXPECT_EQ(to_string(float64), "f64");
  for (const char* text : {"f32_f64", "f64_f32", "f64_f16", "i8_f64"})
    EXPECT_THAT(message_of([&] { parse_types(text); }), HasSubstr("f64 operands have an f64 C"))
        << text;
  EXPECT_THAT(message_of([&] { parse_types("f64xq4b32"); }), HasSubstr("needs A in f32 or f16"));
  EXPECT_THAT(message_of([&] { parse_types("f64xq4_k"); }), HasSubstr("f32, f16 or bf16"));
  EXPECT_THAT(message_of([&] { parse_types("f64_sum_f16"); }), HasSubstr("need A in f16"));
}

TEST(Types, Float64SumsOfOtherOperandsAreOfCallsAlone) {
  const Types wide = {.a = DataType::kF16, .c = DataType::kF16, .sums = Sums::kF64};
  EXPECT_EQ(complaint(wide), "");
  EXPECT_EQ(sum_type(wide), DataType::kF64);
  EXPECT_EQ(sum_type({.a = DataType::kI8, .sums = Sums::kF64}), DataType::kF64);
  EXPECT_EQ(to_string(wide), "f16_f16_sum_f64");
  EXPECT_THAT(message_of([&] { parse_types(to_string(wide)); }), HasSubstr("unknown types"));
  EXPECT_THAT(complaint({.a = DataType::kF64, .c = DataType::kF64, .sums = Sums::kF64}),
              HasSubstr("sums of f64 operands are f64"));
  EXPECT_THAT(complaint({.a = DataType::kI8, .c = DataType::kI32, .sums = Sums::kF64}),
              HasSubstr("those of an i32 C i32"));
}

TEST(Types, OnlyFloat32OperandsMayBeRounded) {
  const Types half = {.rounding = Rounding::kHalf};
  EXPECT_EQ(parse_types("f32_half"), half);
  EXPECT_EQ(to_string(half), "f32_half");
  EXPECT_EQ(to_string(parse_types("f32xq4_k_f16_half")), "f32xq4_k_f16_half");
  EXPECT_EQ(unrounded(half), Types{});
  EXPECT_TRUE(is_float32(half));
  EXPECT_FALSE(is_float32(parse_types("f32_f16_half")));
  for (const char* text : {"f16_half", "bf16_half", "f64_half", "i8_half", "f16_f16_sum_f16_half"})
    EXPECT_THAT(message_of([&] { parse_types(text); }), HasSubstr("_half is only for an A in f32")) << text;
  EXPECT_THAT(complaint({.sums = Sums::kF64, .rounding = Rounding::kHalf}),
              HasSubstr("_half is only for an A in f32"));
}

TEST(Types, UnsupportedCombinationsAreRefused) {
  EXPECT_THAT(complaint({.a = DataType::kI32}), HasSubstr("multiplied as i8 or u8"));
  EXPECT_THAT(complaint({.c = DataType::kI8}), HasSubstr("C cannot be i8"));
  EXPECT_THAT(complaint({.a = DataType::kU8, .c = DataType::kU8}), HasSubstr("C cannot be u8"));
  EXPECT_THAT(complaint({.c = DataType::kI32}), HasSubstr("only for i8 or u8"));
  EXPECT_THAT(complaint({.a = DataType::kBf16, .sums = Sums::kF16}), HasSubstr("A in f16"));
  EXPECT_THAT(complaint({.b = {.bits = 2, .block = 32}}), HasSubstr("2 bits"));
  EXPECT_THAT(complaint({.b = {.bits = 4, .block = 8}}), HasSubstr("blocks of 8"));
  EXPECT_THAT(complaint({.b = {.bits = 4, .block = 512}}), HasSubstr("blocks of 512"));
  EXPECT_THAT(complaint({.b = {.bits = 4, .block = 48}}), HasSubstr("blocks of 48"));
  EXPECT_THAT(complaint({.a = DataType::kI8, .b = {.bits = 4, .block = 32}}),
              HasSubstr("A in f32 or f16"));
  EXPECT_THAT(complaint({.a = DataType::kU8, .b = {.bits = 8, .block = 32}}),
              HasSubstr("A in f32 or f16"));
}

TEST(Types, AQuantizedProblemHasWholeBlocksAndOneB) {
  const Types types = parse_types("f16xq4b32z");
  Problem p = packed_problem(3, 5, 70, Transpose::kNo, Transpose::kYes, 4, types);
  EXPECT_NO_THROW(validate(p));
  EXPECT_EQ(p.ldb, 96);
  EXPECT_EQ(p.stride_b, 0);
  EXPECT_EQ(quantized_blocks(p), 15);
  // Scales take 2 bytes each, and a row's three zero points take two bytes.
  EXPECT_EQ(quantization_bytes(p), 15 * 2 + 5 * 2);
  EXPECT_EQ(stored_b(p).columns, 96);
  const auto refused = [](const Problem& wrong, const char* message) {
    EXPECT_THAT(message_of([&] { validate(wrong); }), HasSubstr(message));
  };
  refused(with(p, [&](auto& x) { x.trans_b = Transpose::kNo; }), "stored n x k");
  refused(with(p, [&](auto& x) { x.ldb = 128; }), "3 blocks of 32 make rows of 96");
  refused(with(p, [&](auto& x) { x.stride_b = 480; }), "share a quantised B");
}

TEST(Types, IntegerSumsMustNotOverflow) {
  const Types types = parse_types("i8_i32");
  Problem p = packed_problem(1, 1, 131071, Transpose::kNo, Transpose::kNo, 1, types);
  EXPECT_NO_THROW(validate(p));
  p.beta = 1;
  EXPECT_NO_THROW(validate(p));
  p.beta = 0.5f;
  EXPECT_THROW(validate(p), Error);
  EXPECT_THROW(validate(packed_problem(1, 1, 131072, Transpose::kNo, Transpose::kNo, 1, types)),
               Error);
}

TEST(Types, UnsignedSumsMustNotReachTheSignBit) {
  const Types types = parse_types("u8_i32");
  const auto problem = [&](std::int64_t k) {
    return packed_problem(1, 1, k, Transpose::kNo, Transpose::kNo, 1, types);
  };
  // 255 * 255 * 33,025 = 2,147,450,625 is the last multiple below 2^31.
  EXPECT_NO_THROW(validate(problem(33025)));
  EXPECT_THAT(message_of([&] { validate(problem(33026)); }),
              HasSubstr("sums of u8 products may overflow beyond 33025"));
}

TEST(Types, BytesOfAProblemCountEachOperandInItsOwn) {
  EXPECT_EQ(minimum_bytes(retyped(packed_problem(2, 4, 32), parse_types("f16_f16"))),
            2 * (2 * 32 + 4 * 32 + 2 * 4));
  // 64 bytes of values, and four scales.
  EXPECT_EQ(minimum_bytes(retyped(packed_problem(2, 4, 32), parse_types("f32xq4b32"))),
            4 * 2 * 32 + 64 + 4 * 4 + 4 * 2 * 4);
}

}  // namespace
}  // namespace rooftile
