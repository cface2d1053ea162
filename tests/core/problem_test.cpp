#include "core/problem.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <limits>
#include <set>

#include "core/error.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

constexpr std::int64_t kHuge = (std::int64_t{1} << 31) + 3;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// The message of the error that validate throws; empty when it accepts.
std::string complaint(const Problem& p) {
  return message_of([&] { validate(p); }, ErrorCode::kInvalidArgument);
}

RC_GTEST_PROP(Problem, PackedProblemsAreValidAndTouchEveryElementOnce, ()) {
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(0, 3000); };
  const auto transpose = [] { return *rc::gen::element(Transpose::kNo, Transpose::kYes); };
  const std::int64_t m = size(), n = size(), k = size();
  const Problem p = packed_problem(m, n, k, transpose(), transpose(), size());
  validate(p);
  RC_ASSERT(span_elements(stored_a(p), p.lda) == m * k);
  RC_ASSERT(span_elements(stored_b(p), p.ldb) == k * n);
  RC_ASSERT(span_elements({m, n}, p.ldc) == m * n);
}

TEST(Problem, TransposesSwapTheStoredShape) {
  const Problem p = packed_problem(3, 5, 7, Transpose::kYes, Transpose::kYes);
  EXPECT_EQ(stored_a(p).rows, 7);
  EXPECT_EQ(stored_a(p).columns, 3);
  EXPECT_EQ(stored_b(p).rows, 5);
  EXPECT_EQ(stored_b(p).columns, 7);
  EXPECT_EQ(p.lda, 3);
  EXPECT_EQ(p.ldb, 7);
  EXPECT_EQ(p.ldc, 5);
}

TEST(Problem, SpansEndWithTheLastElementNotTheLastRow) {
  EXPECT_EQ(span_elements({3, 5}, 8), 2 * 8 + 5);
  EXPECT_EQ(span_elements({0, 5}, 8), 0);
  EXPECT_EQ(span_elements({3, 0}, 8), 0);
  EXPECT_EQ(span_elements({1, 5}, kMax), 5);
  EXPECT_EQ(span_elements({kHuge, 3}, 4), (kHuge - 1) * 4 + 3);
}

TEST(Problem, CountsFlopsAndBytes) {
  Problem p = packed_problem(3, 5, 7);
  EXPECT_EQ(flops(p), 2 * 3 * 5 * 7);
  EXPECT_EQ(minimum_bytes(p), 4 * (3 * 7 + 7 * 5 + 3 * 5));
  p.beta = -1;
  EXPECT_EQ(minimum_bytes(p), 4 * (3 * 7 + 7 * 5 + 2 * 3 * 5));
  p.batch = 11;
  EXPECT_EQ(flops(p), 11 * 2 * 3 * 5 * 7);
}

TEST(Problem, CountsDoNotOverflow) {
  const Problem p = packed_problem(kHuge, kHuge, kHuge);
  const double size = static_cast<double>(kHuge);
  EXPECT_DOUBLE_EQ(flops(p), 2 * size * size * size);
  EXPECT_DOUBLE_EQ(minimum_bytes(p), 12 * size * size);
}

TEST(Validate, AcceptsSizesPast32Bits) {
  EXPECT_EQ(complaint(packed_problem(kHuge, 2, 3)), "");
  EXPECT_EQ(complaint(packed_problem(2, kHuge, 3)), "");
  EXPECT_EQ(complaint(packed_problem(2, 3, kHuge, Transpose::kYes, Transpose::kYes)), "");
}

TEST(Validate, AcceptsEmptySizes) {
  for (const auto& [m, n, k] :
       {std::array{0, 5, 7}, std::array{5, 0, 7}, std::array{5, 7, 0}, std::array{0, 0, 0}})
    EXPECT_EQ(complaint(packed_problem(m, n, k)), "");
}

TEST(Validate, NamesTheNegativeSize) {
  Problem p = packed_problem(3, 5, 7);
  p.m = -1;
  EXPECT_THAT(complaint(p), testing::StartsWith("m is -1"));
  p = packed_problem(3, 5, 7);
  p.n = -2;
  EXPECT_THAT(complaint(p), testing::StartsWith("n is -2"));
  p = packed_problem(3, 5, 7);
  p.k = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(complaint(p), testing::StartsWith("k is -9223372036854775808"));
  p = packed_problem(3, 5, 7);
  p.batch = -1;
  EXPECT_THAT(complaint(p), testing::StartsWith("batch is -1"));
}

TEST(Validate, NamesTheShortLd) {
  for (const Transpose trans : {Transpose::kNo, Transpose::kYes}) {
    const Problem tight = packed_problem(3, 5, 7, trans, trans);
    EXPECT_EQ(complaint(tight), "");
    Problem p = tight;
    --p.lda;
    EXPECT_THAT(complaint(p), testing::StartsWith("lda is"));
    p = tight;
    --p.ldb;
    EXPECT_THAT(complaint(p), testing::StartsWith("ldb is"));
    p = tight;
    --p.ldc;
    EXPECT_THAT(complaint(p), testing::StartsWith("ldc is 4"));
  }
}

TEST(Validate, AnLdOfAnEmptyRowIsStillAtLeastOne) {
  Problem p = packed_problem(3, 0, 7);
  p.ldc = 0;
  EXPECT_THAT(complaint(p), testing::StartsWith("ldc is 0"));
}

TEST(Validate, RefusesSizesBeyondTheAddressSpace) {
  Problem p = packed_problem(kHuge, kHuge, 1);
  EXPECT_THAT(complaint(p), testing::HasSubstr("c with"));
  p = packed_problem(3, 5, 7);
  p.lda = kMax;  // rows * ld * 4 exceeds 64 bits.
  EXPECT_THAT(complaint(p), testing::HasSubstr("a with"));
  p = packed_problem(2, 5, 7);
  p.ldb = kMax / 4 / 7;
  EXPECT_EQ(complaint(p), "");
  ++p.ldb;
  EXPECT_THAT(complaint(p), testing::HasSubstr("b with"));
}

// A column-major matrix is the transposed row-major one, so both must be legal in the same cases.
RC_GTEST_PROP(Validate, AColumnMajorProblemIsItsSwappedOne, ()) {
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(1, 100); };
  const auto transpose = [] { return *rc::gen::element(Transpose::kNo, Transpose::kYes); };
  const auto about = [](std::int64_t ld) {
    return ld + *rc::gen::weightedElement<std::int64_t>({{1, -1}, {4, 0}, {2, 5}});
  };
  Problem p{.m = size(), .n = size(), .k = size()};
  p.trans_a = transpose();
  p.trans_b = transpose();
  p.lda = about(stored_a(p).rows);
  p.ldb = about(stored_b(p).rows);
  p.ldc = about(p.m);
  const auto accepted = [](const Problem& problem, Layout layout) {
    return message_of([&] { validate(problem, layout); }).empty();
  };
  RC_ASSERT(accepted(p, Layout::kColumnMajor) == accepted(swapped_operands(p), Layout::kRowMajor));
  RC_ASSERT(swapped_operands(swapped_operands(p)) == p);
}

TEST(Validate, RefusesTheLargestSizes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const char* types : {"f32", "f16", "i8_i32", "f32xq4b32", "f32xq4_k"}) {
    SCOPED_TRACE(types);
    const auto refused = [&](const Problem& p) {
      EXPECT_THAT([&] { validate(p); }, ::testing::Throws<Error>());
    };
    const Types t = parse_types(types);
    const Transpose yes = Transpose::kYes;
    refused(packed_problem(kMost, kMost, kMost, Transpose::kNo, yes, 1, t));
    refused(packed_problem(2, 2, kMost, Transpose::kNo, yes, 1, t));
    Problem batch = packed_problem(2, 2, 2, Transpose::kNo, yes, kMost, t);
    batch.stride_a = batch.stride_c = kMost;
    refused(batch);
  }
}

TEST(Validate, ColumnMajorLdsSpanColumns) {
  Problem p = packed_problem(3, 5, 7);
  p.lda = 3;
  p.ldb = 7;
  p.ldc = 3;
  EXPECT_NO_THROW(validate(p, Layout::kColumnMajor));
  p.ldc = 2;
  EXPECT_THROW(validate(p, Layout::kColumnMajor), Error);
}

TEST(Bucket, HoldsAnOctaveOfEachSize) {
  const auto bands = [](std::int64_t m) { return bucket_of(packed_problem(m, 1, 1)).m_band; };
  EXPECT_EQ(bands(0), 0);
  EXPECT_EQ(bands(1), 0);
  EXPECT_EQ(bands(2), 1);
  EXPECT_EQ(bands(3), 1);
  EXPECT_EQ(bands(4), 2);
  EXPECT_EQ(bands(1023), 9);
  EXPECT_EQ(bands(1024), 10);
  EXPECT_EQ(bands(kHuge), 31);
  EXPECT_EQ(bands(kMax), 62);
}

TEST(Bucket, IsItsDatabaseKey) {
  const Problem p = packed_problem(1500, 600, 300, Transpose::kNo, Transpose::kYes, 3);
  EXPECT_EQ(to_string(bucket_of(p)), "f32.nt.m10.n9.k8.b1");
}

TEST(Bucket, KeysDifferWhereBucketsDo) {
  std::set<std::string> keys;
  std::size_t buckets = 0;
  for (const Transpose a : {Transpose::kNo, Transpose::kYes})
    for (const Transpose b : {Transpose::kNo, Transpose::kYes})
      for (std::int64_t m : {1, 2, 1024})
        for (std::int64_t n : {1, 16})
          for (std::int64_t k : {1, 4096})
            for (std::int64_t batch : {1, 2}) {
              keys.insert(to_string(bucket_of(packed_problem(m, n, k, a, b, batch))));
              ++buckets;
            }
  EXPECT_EQ(keys.size(), buckets);
}

TEST(Bucket, IgnoresWhatDoesNotChooseAKernel) {
  const Problem p = packed_problem(33, 44, 55);
  Problem other = p;
  other.lda += 9;
  other.alpha = 2;
  other.beta = 3;
  EXPECT_EQ(bucket_of(other), bucket_of(p));
}

TEST(Problem, PrintsInTheDocumentedNotation) {
  EXPECT_EQ(to_string(packed_problem(1024, 512, 256, Transpose::kNo, Transpose::kYes)),
            "1024x512x256 nt");
  EXPECT_EQ(to_string(packed_problem(1, 2, 3, Transpose::kYes, Transpose::kNo, 8)),
            "1x2x3 tn batch 8");
}

TEST(DataType, HasANameAndASize) {
  EXPECT_EQ(parse_data_type(name(DataType::kF32)), DataType::kF32);
  EXPECT_EQ(bytes_of(DataType::kF32), 4);
  EXPECT_THROW(parse_data_type("f31"), Error);
}

}  // namespace
}  // namespace rooftile
