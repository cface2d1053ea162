// Sliced calls, computed slice by slice on the host, have the same results as whole calls.
#include "runtime/call/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/host/host_tier.h"
#include "tests/support/call_of.h"
#include "tests/support/product.h"

namespace rooftile {
namespace {

std::function<bool(const Problem&)> at_most(std::int64_t elements) {
  return [elements](const Problem& p) {
    return p.batch * std::max({p.m * p.k, p.k * p.n, p.m * p.n}) <= elements;
  };
}

void expect_right_in_slices(const Problem& p, std::int64_t elements, std::size_t least_slices) {
  Product product(p);
  const std::vector<GemmCall> parts = slices(call_of(product), at_most(elements));
  EXPECT_GE(parts.size(), least_slices) << to_string(p);
  for (const GemmCall& part : parts) {
    EXPECT_TRUE(at_most(elements)(part.problem));
    run_on_host(HostBlas::get(), part, Tier::kHost);
  }
  product.expect_right();
}

TEST(SlicesTest, CallsThatFitAreNotDivided) {
  Product product(padded_problem(50, 60, 70, Transpose::kNo, Transpose::kYes));
  const GemmCall call = call_of(product);
  const auto parts = slices(call, at_most(1 << 20));
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts.front().problem, call.problem);
  EXPECT_EQ(parts.front().a, call.a);
}

TEST(SlicesTest, EveryTransposeScalarAndEpilogueIsDividedCorrectly) {
  for (const Transpose trans_a : {Transpose::kNo, Transpose::kYes})
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes})
      for (const float beta : {0.0f, -0.5f})
        for (const char* epilogue :
             {"", "row_scale+column_scale+bias_row+relu", "bias_column+gelu_erf+residual+clamp"}) {
          Problem p = padded_problem(131, 197, 259, trans_a, trans_b, 1.5f, beta);
          p.epilogue = parse_epilogue(epilogue);
          expect_right_in_slices(p, 64 * 65, 20);
        }
}

TEST(SlicesTest, BatchesAreDividedBeforeTheirMembers) {
  for (const bool shared_b : {false, true}) {
    Problem p =
        padded_batch(padded_problem(70, 65, 80, Transpose::kNo, Transpose::kNo), 5, shared_b);
    p.epilogue = parse_epilogue("bias_column+residual");
    expect_right_in_slices(p, 2 * 70 * 80, 3);
    expect_right_in_slices(p, 64 * 64, 10);
  }
}

TEST(SlicesTest, ArraysOfPointersAreFollowed) {
  const Problem p =
      padded_batch(padded_problem(70, 65, 80, Transpose::kYes, Transpose::kNo), 3, false);
  for (const std::int64_t elements : {2 * 70 * 80, 64 * 64}) {
    Product product(p);
    GemmCall call = call_of(product);
    std::vector<const void*> a, b;
    std::vector<void*> c;
    for (std::int64_t i = 0; i < p.batch; ++i) {
      a.push_back(call.a_of(i));
      b.push_back(call.b_of(i));
      c.push_back(call.c_of(i));
    }
    call.a_array = a.data(), call.b_array = b.data(), call.c_array = c.data();
    call.a = call.b = nullptr, call.c = nullptr;
    for (const GemmCall& part : slices(call, at_most(elements)))
      run_on_host(HostBlas::get(), part, Tier::kHost);
    product.expect_right();
  }
}

TEST(SlicesTest, OtherTypesAreDividedWhereTheResultStaysExact) {
  for (const char* types : {"f16", "bf16", "i8_i32", "f64"})
    expect_right_in_slices(
        padded_problem(70, 65, 300, Transpose::kNo, Transpose::kYes, 1, 1, parse_types(types)),
        64 * 65, 5);
  // Only rows and columns can be cut for these types, not k.
  for (const char* types : {"f16_f16", "f32xq4b32", "f16xq8b32z_f16", "f32xq4_k"}) {
    const Problem p =
        padded_problem(130, 190, 64, Transpose::kNo, Transpose::kYes, 1, 1, parse_types(types));
    expect_right_in_slices(p, 64 * 65, 6);
    Product product(retyped(packed_problem(64, 64, 4096), parse_types(types)));
    EXPECT_TRUE(slices(call_of(product), at_most(64 * 65)).empty()) << types;
  }
}

TEST(SlicesTest, RangesOfRowsColumnsAndMatricesAddUpToTheCall) {
  const auto expect_right_in_ranges = [](const Problem& p, CutAlong along) {
    Product product(p);
    const std::int64_t middle = std::max<std::int64_t>(length(p, along) / 3, 1);
    for (const auto& [begin, end] :
         {std::pair(middle, length(p, along)), std::pair<std::int64_t, std::int64_t>(0, middle)})
      run_on_host(HostBlas::get(), range_of(call_of(product), along, begin, end - begin),
                  Tier::kHost);
    product.expect_right();
  };
  for (const CutAlong along : {CutAlong::kRows, CutAlong::kColumns})
    for (const char* types : {"f32", "f64", "f16_f16", "i8_i32", "f32xq4b32z", "f32xq4_k"}) {
      Problem p =
          padded_problem(70, 65, 80, Transpose::kYes, Transpose::kNo, 1, 1, parse_types(types));
      if (p.types.c != DataType::kI32)
        p.epilogue = parse_epilogue("row_scale+column_scale+bias_row+relu+residual");
      expect_right_in_ranges(p, along);
    }
  const Problem one = padded_problem(70, 65, 80, Transpose::kYes, Transpose::kNo, 1, 1);
  for (const bool shared_b : {false, true})
    expect_right_in_ranges(padded_batch(one, 5, shared_b), CutAlong::kBatch);
}

TEST(SlicesTest, TooManySlicesAreRefusedAtOnce) {
  const Problem p = packed_problem(1 << 20, 1 << 20, 1 << 20);
  EXPECT_TRUE(slices({.problem = p}, at_most(64 * 64)).empty());
  const Problem batch =
      packed_problem(64, 64, 64, Transpose::kNo, Transpose::kNo, std::int64_t{1} << 40);
  EXPECT_TRUE(slices({.problem = batch}, at_most(64 * 64)).empty());
}

TEST(SlicesTest, CallsThatCannotBeDividedFarEnoughAreRefused) {
  Product product(padded_problem(65, 65, 65, Transpose::kNo, Transpose::kNo));
  EXPECT_TRUE(slices(call_of(product), at_most(1)).empty());
}

TEST(SlicesTest, AResidualThatIsCIsReadBeforeItIsWritten) {
  Problem p = packed_problem(70, 65, 300);
  p.epilogue = parse_epilogue("relu+residual");
  Product product(p);
  GemmCall call = call_of(product);
  call.epilogue.residual = product.c.data();
  call.epilogue.ld_residual = p.ldc;
  EXPECT_TRUE(slices(call, at_most(64 * 65)).empty());  // This size would require cuts along k.
  const std::vector<GemmCall> parts = slices(call, at_most(64 * 300));
  EXPECT_GT(parts.size(), 1u);
  for (const GemmCall& part : parts) EXPECT_EQ(part.problem.k, p.k);
}

TEST(SlicesTest, Float64SumsOfOtherOperandsAreNotCutAlongK) {
  Problem p = packed_problem(70, 65, 300);
  p.types.sums = Sums::kF64;
  EXPECT_TRUE(slices({.problem = p}, at_most(64 * 65)).empty());
  p.types = parse_types("f64");
  EXPECT_FALSE(slices({.problem = p}, at_most(64 * 65)).empty());
}

TEST(SlicesTest, SlicesKeepAlignment) {
  Product product(packed_problem(1000, 900, 800));
  const GemmCall call = call_of(product);
  for (const GemmCall& part : slices(call, at_most(10'000))) {
    const auto offset = [](const void* x, const void* begin) {
      return (static_cast<const char*>(x) - static_cast<const char*>(begin)) / 4;
    };
    EXPECT_EQ(offset(part.a, call.a) % 800 % 64, 0);
    EXPECT_EQ(offset(part.c, call.c) % 900 % 64, 0);
  }
}

}  // namespace
}  // namespace rooftile
