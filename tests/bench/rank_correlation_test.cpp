#include "bench/contests/rank_correlation.h"

#include <gtest/gtest.h>

#include <array>

#include "core/error.h"

namespace rooftile {
namespace {

TEST(RankCorrelation, IsOfTheOrderOnly) {
  const std::array x = {3.0, 1.0, 2.0, 10.0}, same = {30.0, -1.0, 2.5, 1e9},
                   opposite = {1.0, 3.0, 2.0, 0.5};
  EXPECT_DOUBLE_EQ(rank_correlation(x, same), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(x, opposite), -1);
}

// Ranks are 1 2 3 4 5 and 2 1 4 3 5: 1 - 6 * 4 / (5 * 24).
TEST(RankCorrelation, FollowsSpearmansFormula) {
  const std::array x = {1.0, 2.0, 3.0, 4.0, 5.0}, y = {2.0, 1.0, 4.0, 3.0, 5.0};
  EXPECT_DOUBLE_EQ(rank_correlation(x, y), 0.8);
}

// Ranks are 1.5 1.5 3 and 1 2 3: products 0.5 + 0 + 1, over the root of 1.5 * 2.
TEST(RankCorrelation, EqualValuesShareTheirRanks) {
  const std::array x = {7.0, 7.0, 8.0}, y = {1.0, 2.0, 3.0};
  EXPECT_DOUBLE_EQ(rank_correlation(x, y), 1.5 / std::sqrt(3.0));
}

TEST(RankCorrelation, NothingToOrderIsNoCorrelation) {
  const std::array x = {7.0, 7.0}, y = {1.0, 2.0};
  EXPECT_EQ(rank_correlation(x, y), 0);
  EXPECT_THROW(rank_correlation(x, std::array{1.0}), Error);
  EXPECT_THROW(rank_correlation(std::array{1.0}, std::array{1.0}), Error);
}

}  // namespace
}  // namespace rooftile
