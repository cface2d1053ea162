#include "bench/contests/calibration_curves.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/numbers/random.h"

namespace rooftile {
namespace {

using Shape = CalibrationCurve::Shape;

// A held value is equally likely to lie in each of the known + 1 gaps between exchangeable known
// ones (Lei et al. 2018, theorem 1), and an interval ends within one gap at each end; three
// standard errors of the share besides.
TEST(CalibrationCurve, ExchangeableValuesLieInsideAsOftenAsStated) {
  constexpr std::size_t kKnown = 39;
  constexpr int kHeld = 4000;
  for (const Shape shape : {Shape::kMiddle, Shape::kLow}) {
    Random random(7);
    CalibrationCurve curve;
    for (int i = 0; i < kHeld; ++i) {
      std::vector<double> known(kKnown);
      for (double& x : known) x = std::exp(3 * random.unit());
      curve.add(shape, known, std::exp(3 * random.unit()));
    }
    for (std::size_t i = 0; i < CalibrationCurve::kStated.size(); ++i) {
      const double p = CalibrationCurve::kStated[i], error = 3 * std::sqrt(p * (1 - p) / kHeld);
      EXPECT_GE(curve.observed(i), p - 2.0 / (kKnown + 1) - error) << p;
      EXPECT_LE(curve.observed(i), p + 2.0 / (kKnown + 1) + error) << p;
    }
  }
}

TEST(CalibrationCurve, TooFewKnownValuesGiveNoEnd) {
  CalibrationCurve curve;
  curve.add(Shape::kLow, {1, 2}, 1e9);
  EXPECT_EQ(curve.observed(0), 0);
  EXPECT_EQ(curve.length(0), 1.5);
  EXPECT_EQ(curve.observed(3), 1) << "of two values none is exceeded with a fifth's probability";
  EXPECT_TRUE(std::isinf(curve.length(3)));
}

TEST(Probabilities, AreGroupedByFifths) {
  Probabilities probabilities;
  probabilities.add(0.1, false);
  probabilities.add(1, true);
  probabilities.add(0.9, false);
  EXPECT_EQ(probabilities.fifths()[0].count, 1);
  EXPECT_EQ(probabilities.fifths()[4].count, 2);
  EXPECT_EQ(probabilities.fifths()[4].happened, 1);
  EXPECT_DOUBLE_EQ(probabilities.fifths()[4].stated, 1.9);
}

}  // namespace
}  // namespace rooftile
