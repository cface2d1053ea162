#include "runtime/model/calibration_drift.h"

#include <gmock/gmock.h>

#include <cmath>

namespace rooftile {
namespace {

Figure figure(const char* name, double value, double mad) {
  return {.name = name, .unit = "gbps", .value = value, .mad = mad, .count = 7};
}

TEST(CalibrationDrift, MarksWhatMovedBeyondTheJointSpread) {
  // The joint standard deviation is 1.4826 * hypot(3, 4) = 7.4; twice that is 14.8.
  const std::vector<Figure> before = {figure("a", 100, 3), figure("b", 100, 3)};
  const std::vector<Figure> now = {figure("a", 114, 4), figure("b", 116, 4)};
  const std::vector<FigureDrift> drifts = calibration_drift(now, before);
  ASSERT_EQ(drifts.size(), 2u);
  EXPECT_FALSE(drifts[0].beyond_spread);
  EXPECT_TRUE(drifts[1].beyond_spread);
  EXPECT_DOUBLE_EQ(drifts[1].ratio, 1.16);
  EXPECT_EQ(drifts[1].before, before[1]);
}

TEST(CalibrationDrift, ReportsDecreases) {
  const std::vector<Figure> before = {figure("a", 100, 1)}, now = {figure("a", 90, 1)};
  EXPECT_TRUE(calibration_drift(now, before)[0].beyond_spread);
}

TEST(CalibrationDrift, ComparesCommonMeasurementsInTheNewOrder) {
  const std::vector<Figure> before = {figure("a", 1, 0), figure("gone", 1, 0), figure("b", 0, 0)};
  const std::vector<Figure> now = {figure("b", 2, 0), figure("new", 1, 0), figure("a", 1, 0)};
  const std::vector<FigureDrift> drifts = calibration_drift(now, before);
  ASSERT_EQ(drifts.size(), 2u);
  EXPECT_EQ(drifts[0].now.name, "b");
  EXPECT_TRUE(std::isinf(drifts[0].ratio));
  EXPECT_EQ(drifts[1].now.name, "a");
  EXPECT_FALSE(drifts[1].beyond_spread);
  EXPECT_EQ(drifts[1].ratio, 1);
}

}  // namespace
}  // namespace rooftile
