#include "runtime/model/counterfactual.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "tests/model/random_inputs.h"

namespace rooftile {
namespace {

RC_GTEST_PROP(Counterfactual, FindsAThresholdExactly, ()) {
  const std::int64_t size = random_size(1e5), threshold = random_size(1e5);
  const SizeRange range = search_range(size);
  const Flip flip = find_flip(size, range, [&](std::int64_t s) { return s >= threshold; });
  const bool below = size >= threshold && threshold > range.lowest,
             above = size < threshold && threshold <= range.highest;
  RC_ASSERT(flip.below == (below ? std::optional(threshold - 1) : std::nullopt));
  RC_ASSERT(flip.above == (above ? std::optional(threshold) : std::nullopt));
}

TEST(Counterfactual, BothEdgesOfAWindowAreFound) {
  const Flip flip =
      find_flip(150, {1, 65'536}, [](std::int64_t s) { return s >= 100 && s <= 300; });
  EXPECT_EQ(flip.below, 99);
  EXPECT_EQ(flip.above, 301);
}

TEST(Counterfactual, StaysInTheRangeWithFewEvaluations) {
  int questions = 0;
  find_flip(7, {3, 1'000'000}, [&](std::int64_t s) {
    EXPECT_GE(s, 3);
    EXPECT_LE(s, 1'000'000);
    return ++questions > 1'000'000;
  });
  EXPECT_LT(questions, 100);
}

TEST(Counterfactual, TheRangeContainsTheCallsSize) {
  EXPECT_EQ(search_range(512).highest, 65'536);
  EXPECT_EQ(search_range(100'000).highest, 400'000);
  EXPECT_GT(element_range(std::int64_t{1} << 40).highest, std::int64_t{1} << 40);
}

TEST(Counterfactual, NearestIsTheSmallestRatio) {
  const std::array<NamedFlip, 3> flips = {
      NamedFlip{"m", 512, {.below = 100, .above = std::nullopt}},
      NamedFlip{"n", 8, {.below = 3, .above = 17}}, NamedFlip{"k", 64, {}}};
  EXPECT_EQ(nearest(flips)->what, "n");
  EXPECT_EQ(nearest(std::span(flips).first(1))->what, "m");
  EXPECT_EQ(nearest(std::span(flips).last(1)), nullptr);
}

TEST(Counterfactual, ChangingOneSizeKeepsTheRestOfTheCall) {
  Problem p = packed_problem(30, 40, 50, Transpose::kYes, Transpose::kYes, 3, parse_types("f16"));
  p.beta = 0.5f;
  p.epilogue = parse_epilogue("bias_column+relu");
  for (const Dimension d : {Dimension::kM, Dimension::kN, Dimension::kK, Dimension::kBatch}) {
    Problem other = resized(p, d, 97);
    EXPECT_EQ(size_of(other, d), 97) << name(d);
    EXPECT_NO_THROW(validate(other));
    EXPECT_EQ(resized(other, d, size_of(p, d)), p) << name(d);
  }
}

// The search evaluates the model, so both must agree.
RC_GTEST_PROP(Counterfactual, FlipsAreWhereTheDecisionChanges, ()) {
  const DispatchModel model(random_calibration(), DeviceKind::kDiscrete, random_tuned());
  const Problem p = random_problem();
  const auto chosen = [&](std::int64_t m) {
    return decide({.problem = resized(p, Dimension::kM, m)}, model).tier == Tier::kDevice;
  };
  const Flip flip = find_flip(p.m, search_range(p.m), chosen);
  if (flip.below)
    RC_ASSERT(chosen(*flip.below) != chosen(p.m) && chosen(*flip.below + 1) == chosen(p.m));
  if (flip.above)
    RC_ASSERT(chosen(*flip.above) != chosen(p.m) && chosen(*flip.above - 1) == chosen(p.m));
}

}  // namespace
}  // namespace rooftile
