#include "tuner/problems/portfolio_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rooftile {
namespace {

using ::testing::SizeIs;

constexpr double kMaxFlops = 1e9;

std::vector<Problem> tuned() {
  return {packed_problem(512, 4096, 64, Transpose::kNo, Transpose::kYes),
          packed_problem(1, 128, 128, Transpose::kNo, Transpose::kYes, 32)};
}

TEST(PortfolioProblems, BeginWithTheTunedOnesAndStayTheSame) {
  const std::vector<Problem> all = portfolio_problems(tuned(), kMaxFlops, 64);
  ASSERT_THAT(all, SizeIs(64));
  EXPECT_EQ(all[0], tuned()[0]);
  EXPECT_EQ(all[1], tuned()[1]);
  const std::vector<Problem> first = portfolio_problems(tuned(), kMaxFlops, 20);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin()));
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(std::ranges::count(all, all[i]), 1) << to_string(all[i]);
}

TEST(PortfolioProblems, AreLegalCheapAndOfTheirClass) {
  for (const char* types : {"f32", "f16_f16", "i8_i32", "u8_i32", "f32xq4b32"})
    for (const double max_flops : {1e5, 1e9}) {
      std::vector<Problem> of_class;
      for (const Problem& p : tuned()) of_class.push_back(retyped(p, parse_types(types)));
      const std::vector<Problem> all = portfolio_problems(of_class, max_flops, 64);
      EXPECT_THAT(all, SizeIs(64));
      for (const Problem& p : all) {
        EXPECT_NO_THROW(validate(p)) << to_string(p);
        EXPECT_LE(flops(p), max_flops) << to_string(p);
        EXPECT_EQ(p.types, of_class.front().types);
        EXPECT_EQ(p.trans_b, Transpose::kYes);
      }
    }
}

TEST(PortfolioProblems, KeepTheEpilogueOfTheirClass) {
  std::vector<Problem> of_class = tuned();
  for (Problem& p : of_class) p.epilogue = parse_epilogue("relu");
  for (const Problem& p : portfolio_problems(of_class, kMaxFlops, 40))
    EXPECT_EQ(p.epilogue, of_class.front().epilogue);
}

// Small, thin, flat, round, odd and batched sizes, each combined with any of the other sizes.
TEST(PortfolioProblems, AreOfEveryKind) {
  const std::vector<Problem> all = portfolio_problems(tuned(), kMaxFlops, 64);
  const auto count = [&](auto&& is) { return std::ranges::count_if(all, is); };
  EXPECT_GE(count([](const Problem& p) { return p.m == 1; }), 3);
  EXPECT_GE(count([](const Problem& p) { return p.n == 1; }), 3);
  EXPECT_GE(count([](const Problem& p) { return std::min(p.m, p.n) == 1 && p.k > 256; }), 1);
  EXPECT_GE(count([](const Problem& p) { return flops(p) < 1e6; }), 5);
  EXPECT_GE(count([](const Problem& p) { return flops(p) > 1e8; }), 5);
  EXPECT_GE(count([](const Problem& p) { return p.m % 16 == 0 && p.n % 16 == 0; }), 5);
  EXPECT_GE(count([](const Problem& p) { return p.m % 2 == 1 && p.n % 2 == 1; }), 3);
  EXPECT_GE(count([](const Problem& p) { return p.batch == 32; }), 3);
  EXPECT_GE(count([](const Problem& p) { return p.m > 8 * p.n; }), 5);
  EXPECT_GE(count([](const Problem& p) { return p.n > 8 * p.m; }), 5);
}

TEST(PortfolioProblems, AreFewWhereHardlyAnyIsCheapEnough) {
  EXPECT_LT(portfolio_problems(tuned(), 5000, 100'000).size(), 100'000u);
  EXPECT_THAT(portfolio_problems(tuned(), 0, 64), SizeIs(0));
}

}  // namespace
}  // namespace rooftile
