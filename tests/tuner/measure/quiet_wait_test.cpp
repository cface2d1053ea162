#include "tuner/measure/quiet_wait.h"

#include <gtest/gtest.h>

#include <limits>

namespace rooftile {
namespace {

TEST(QuietWait, OnlyTimesClearlyAboveTheUsualOneAreSlowed) {
  EXPECT_TRUE(is_slowed(1.25, 1));
  EXPECT_FALSE(is_slowed(1.15, 1));
  EXPECT_FALSE(is_slowed(1, 0)) << "no earlier time";
  EXPECT_FALSE(is_slowed(1, std::numeric_limits<double>::infinity()));
}

TEST(QuietWait, EndsWithItsTime) {
  QuietWait wait(0.6, [] { return false; });
  EXPECT_TRUE(wait.wait());
  EXPECT_TRUE(wait.wait());
  EXPECT_FALSE(wait.wait()) << "a tenth of a second is no whole wait";
}

TEST(QuietWait, NeverWaitsWithoutTimeOrWhenTheRunIsOver) {
  EXPECT_FALSE(QuietWait().wait());
  EXPECT_FALSE(QuietWait(10, [] { return true; }).wait());
}

}  // namespace
}  // namespace rooftile
