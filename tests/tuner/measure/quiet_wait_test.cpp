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
  EXPECT_TRUE(wait.wait(0));
  EXPECT_FALSE(wait.wait(0.2)) << "the repetition would take longer than there is";
  EXPECT_TRUE(wait.wait(0.05));
  EXPECT_FALSE(wait.wait(0)) << "a tenth of a second is no whole wait";
}

TEST(QuietWait, NeverWaitsWithoutTimeOrWhenTheRunIsOver) {
  EXPECT_FALSE(QuietWait().wait(0));
  EXPECT_FALSE(QuietWait(10, [] { return true; }).wait(0));
}

}  // namespace
}  // namespace rooftile
