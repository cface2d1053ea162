// Baselines call vendors' libraries for the GEMM that Rooftile computes: cuBLAS is replaced by a
// fake on the host, and CLBlast is the real library where it is installed.
#include "bench/baselines/baseline.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/baselines/baseline_ratio.h"
#include "bench/baselines/baseline_turns.h"
#include "core/error.h"
#include "core/half.h"
#include "runtime/kernel/staging.h"
#include "runtime/verify/random_operand.h"
#include "runtime/verify/reference.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kFakes = ROOFTILE_FAKES;

struct Operands {
  explicit Operands(const Problem& p, std::uint64_t seed = 3) {
    Random random(seed);
    a = random_operand(p.types.a, span_a(p), random);
    b = random_b(p.types, span_b(p), random);
  }
  std::vector<char> a, b;
};

// Compares every element of every GEMM of the batch.
void expect_right(const Problem& p, const Operands& operands, const std::vector<char>& c) {
  ASSERT_EQ(c.size(), static_cast<std::size_t>(span_c(p) * bytes_of(p.types.c)));
  for (std::int64_t i = 0; i < p.batch; ++i)
    for (std::int64_t row = 0; row < p.m; ++row)
      for (std::int64_t column = 0; column < p.n; ++column) {
        const std::int64_t bytes = bytes_of(p.types.a);
        const ReferenceElement expected =
            reference_element(p, operands.a.data() + i * p.stride_a * bytes,
                              operands.b.data() + i * p.stride_b * bytes, 0, row, column);
        const double got = element(p.types.c, c.data(), i * p.stride_c + row * p.ldc + column);
        ASSERT_LE(error_ratio(p, expected, got), 1.0)
            << to_string(p) << ": C[" << row << "][" << column << "] of product " << i << " is "
            << got << ", expected " << expected.value;
      }
}

void expect_right(Baseline& baseline, const Problem& p) {
  const Operands first(p, 3), second(p, 4);
  baseline.load(p, 2);
  baseline.upload(0, first.a.data(), first.b.data());
  baseline.upload(1, second.a.data(), second.b.data());
  for (std::size_t set : {1, 0}) EXPECT_GT(baseline.run(set), 0);
  expect_right(p, first, baseline.result(0));
  expect_right(p, second, baseline.result(1));
}

class CublasBaselineTest : public ::testing::Test {
 protected:
  // A later dlopen of the soname returns the library that is already loaded.
  static void SetUpTestSuite() {
    ASSERT_NE(dlopen((kFakes + "/libcuda.so.1").c_str(), RTLD_NOW), nullptr) << dlerror();
  }
  std::unique_ptr<Baseline> baseline_ = open_baseline("cublas", setting());
  static BaselineSetting setting(const std::string& uuid = {}) {
    return {.library = kFakes + "/libcublas.so.12", .device_uuid = uuid};
  }
};

TEST_F(CublasBaselineTest, EveryTypeTransposeAndBatchMatchesOurResult) {
  for (const char* types : {"f32", "f32_half", "f64", "f16", "f16_f16", "f16_f16_sum_f16", "bf16",
                            "bf16_bf16", "i8_i32"})
    for (Transpose trans_a : {Transpose::kNo, Transpose::kYes})
      for (Transpose trans_b : {Transpose::kNo, Transpose::kYes})
        for (std::int64_t batch : {1, 3})
          expect_right(*baseline_, staged_problem(packed_problem(7, 13, 5, trans_a, trans_b, batch,
                                                                 parse_types(types))));
}

TEST_F(CublasBaselineTest, LeadingDimensionsStridesAndAlphaAreThoseOfTheProblem) {
  Problem p = packed_problem(9, 6, 11, Transpose::kNo, Transpose::kYes, 2);
  p.lda += 2;
  p.ldb += 3;
  p.ldc += 1;
  p.stride_a = span_elements(stored_a(p), p.lda) + 5;
  p.stride_b = 0;
  p.stride_c = p.m * p.ldc + 7;
  p.alpha = -0.5f;
  expect_right(*baseline_, p);
}

TEST_F(CublasBaselineTest, UnsupportedProblemsAreReported) {
  const auto refusal = [&](const Problem& p) {
    return message_of(
        [&] {
          baseline_->load(p, 1);
          const Operands operands(p);
          baseline_->upload(0, operands.a.data(), operands.b.data());
          baseline_->run(0);
        },
        ErrorCode::kUnsupported);
  };
  const Problem p = packed_problem(7, 13, 5);
  EXPECT_THAT(refusal(retyped(p, parse_types("i8"))), HasSubstr("cuBLAS has no i8: only f32"));
  for (const std::string types : {"u8", "u8_i32"})
    EXPECT_THAT(refusal(retyped(p, parse_types(types))), HasSubstr("cuBLAS has no " + types));
  EXPECT_THAT(refusal(retyped(p, parse_types("f32_bf16_half"))), HasSubstr("cuBLAS has no"));
  EXPECT_THAT(refusal(retyped(p, parse_types("f32_f16"))), HasSubstr("cuBLAS has no f32_f16"));
  EXPECT_THAT(refusal(retyped(p, parse_types("f32xq4b32"))),
              HasSubstr("not multiply a quantised B"));
  EXPECT_THAT(refusal(retyped(p, parse_types("i8_i32"))), HasSubstr("these types or ld"));
  Problem fused = p, added = p;
  fused.epilogue = parse_epilogue("relu");
  added.beta = 1;
  EXPECT_THAT(refusal(fused), HasSubstr("no epilogue"));
  EXPECT_THAT(refusal(added), HasSubstr("beta 0"));
}

TEST_F(CublasBaselineTest, DeviceUnderTestIsFoundByItsUuid) {
  EXPECT_THAT(open_cublas(setting(std::string(32, 'a')))->device(),
              HasSubstr("Fake GPU 0, driver for CUDA 12.8, NOT the device under test"));
  std::string second;
  for (int i = 0; i < 16; ++i) second += "a1";
  EXPECT_EQ(open_cublas(setting(second))->device(), "Fake GPU 1, driver for CUDA 12.8");
  EXPECT_THAT(baseline_->library(), AllOf(HasSubstr("cuBLAS 12.3.4"), HasSubstr(kFakes)));
}

TEST_F(CublasBaselineTest, RoundsPadRowsAndDetectAWrongResult) {
  const Problem p = packed_problem(17, 7, 33, Transpose::kYes, Transpose::kNo, 2,
                                   parse_types("i8_i32"));  // No ld is a multiple of 4.
  const Operands first(p, 3), second(p, 4);
  const std::vector<HostOperands> sets = {{first.a.data(), first.b.data()},
                                          {second.a.data(), second.b.data()}};
  BaselineRounds turns(*baseline_, p, sets);
  for (int i = 0; i < 3; ++i) EXPECT_GT(turns.next_ns(), 0);

  void* library = dlopen((kFakes + "/libcublas.so.12").c_str(), RTLD_NOW);
  const auto spoil = reinterpret_cast<void (*)(double)>(dlsym(library, "fake_cublas_spoil"));
  ASSERT_NE(spoil, nullptr);
  spoil(1);
  EXPECT_THAT(message_of([&] { BaselineRounds(*baseline_, p, sets); }, ErrorCode::kInternal),
              AllOf(HasSubstr("cublas computed 17x7x33"), HasSubstr("C[16][6] of batch member 1")));
  spoil(0);
}

const std::string kGgml = kFakes + "/libggml-vulkan.so";

Problem weights_of(const std::string& types) {
  return packed_problem(3, 5, 512, Transpose::kNo, Transpose::kYes, 1, parse_types(types));
}

TEST(GgmlBaselineTest, ProductsWithWeightsOfEveryFormatMatchOurResult) {
  const auto baseline = open_baseline("ggml", {.library = kGgml});
  EXPECT_EQ(baseline->device(), "Fake device");
  EXPECT_THAT(baseline->library(), HasSubstr("ggml 0.1.2, commit abcdef"));
  for (const char* types : {"f32", "f32xq4_k", "f32xq8_0"}) {
    Problem p = weights_of(types);
    p.ldc += 3;
    p.lda += 4;
    expect_right(*baseline, p);
  }
}

TEST(GgmlBaselineTest, RefusesWhatItDoesNotRun) {
  const auto baseline = open_baseline("ggml", {.library = kGgml});
  const auto refusal = [&](const Problem& p) {
    return message_of([&] { baseline->load(p, 1); }, ErrorCode::kUnsupported);
  };
  EXPECT_THAT(refusal(weights_of("f16xq4_k")), HasSubstr("not with f16xq4_k"));
  EXPECT_THAT(refusal(weights_of("f32xq4b32")), HasSubstr("not with f32xq4b32"));
  EXPECT_THAT(refusal(packed_problem(3, 5, 7)), HasSubstr("B transposed"));
  Problem scaled = weights_of("f32");
  scaled.alpha = 2;
  EXPECT_THAT(refusal(scaled), HasSubstr("alpha 1"));
}

TEST(GgmlBaselineTest, RoundsDetectAWrongResultAndAFailedGraph) {
  const auto baseline = open_baseline("ggml", {.library = kGgml});
  const Problem p = weights_of("f32xq4_k");
  const Operands operands(p);
  const std::vector<HostOperands> sets(2, {operands.a.data(), operands.b.data()});
  BaselineRounds turns(*baseline, p, sets);
  for (int i = 0; i < 3; ++i) EXPECT_GT(turns.next_ns(), 0);
  void* const library = dlopen(kGgml.c_str(), RTLD_NOW);
  const auto spoil = reinterpret_cast<void (*)(double)>(dlsym(library, "fake_ggml_spoil"));
  const auto fail = reinterpret_cast<void (*)(int)>(dlsym(library, "fake_ggml_fail"));
  ASSERT_TRUE(spoil != nullptr && fail != nullptr);
  spoil(1000);
  EXPECT_THAT(message_of([&] { BaselineRounds(*baseline, p, sets); }, ErrorCode::kInternal),
              AllOf(HasSubstr("ggml computed 3x5x512"), HasSubstr("C[2][4]")));
  spoil(0);
  fail(-1);
  EXPECT_THAT(message_of([&] { BaselineRounds(*baseline, p, sets); }, ErrorCode::kDevice),
              HasSubstr("ggml's graph failed with status -1"));
  fail(0);
}

TEST(BaselineTest, MissingLibraryIsNamedWithItsRemedy) {
  const BaselineSetting nowhere = {.library = "/nowhere/libcublas.so.12"};
  EXPECT_THAT(message_of([&] { open_baseline("cublas", nowhere); }, ErrorCode::kUnsupported),
              AllOf(HasSubstr("cuBLAS cannot be loaded"), HasSubstr("nvidia-cublas"),
                    HasSubstr("CUBLAS_LIBRARY"), HasSubstr("/nowhere/libcublas.so.12: ")));
  EXPECT_THAT(message_of([&] { open_baseline("clblast", nowhere); }, ErrorCode::kUnsupported),
              AllOf(HasSubstr("CLBlast cannot be loaded"), HasSubstr("libclblast1")));
}

TEST(BaselineTest, AnotherLibraryIsRejected) {
  EXPECT_THAT(message_of([&] { open_cublas({.library = kFakes + "/libcuda.so.1"}); },
                         ErrorCode::kUnsupported),
              HasSubstr("has no function cublasCreate_v2"));
}

TEST(BaselineTest, UnknownNameListsTheKnownOnes) {
  EXPECT_THAT(message_of([&] { open_baseline("rocblas", {}); }, ErrorCode::kInvalidArgument),
              HasSubstr("'rocblas'; known: cublas, clblast, ggml"));
}

TEST(BaselineTest, RatioIsTheMedianOfRatiosAndNotARatioOfMedians) {
  const double baseline[] = {30, 8, 10}, tuned[] = {10, 4, 20};  // 3, 2, 0.5; medians 10 and 10
  const BaselineRatio ratio = baseline_ratio("cublas", baseline, tuned, 6);
  EXPECT_EQ(ratio.baseline, "cublas");
  EXPECT_DOUBLE_EQ(ratio.kernel, 2);
  EXPECT_DOUBLE_EQ(ratio.with_packing, 0.8);
  EXPECT_THAT(message_of(
                  [&] {
                    baseline_ratio("cublas", {baseline, 2}, tuned, 0);
                  },
                  ErrorCode::kInvalidArgument),
              HasSubstr("2 samples of cublas"));
}

// The tests' packages do not include this library. It has two cases, because PoCL takes seconds to
// compile each.
TEST(ClblastBaselineTest, ResultMatchesOurs) {
  std::unique_ptr<Baseline> baseline;
  try {
    baseline = open_baseline("clblast", {.kind = DeviceKind::kSoftware});
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  constexpr Transpose kNo = Transpose::kNo, kYes = Transpose::kYes;
  expect_right(*baseline, staged_problem(packed_problem(7, 13, 5, kNo, kYes)));
  expect_right(*baseline, staged_problem(packed_problem(7, 13, 5, kYes, kNo, 3)));
  EXPECT_THAT(
      message_of(
          [&] { baseline->load(packed_problem(7, 13, 5, {}, {}, 1, parse_types("f16_f16")), 1); },
          ErrorCode::kUnsupported),
      HasSubstr("f16_f16_sum_f16"));
}

}  // namespace
}  // namespace rooftile
