#include "runtime/model/fit/surface.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/model/random_inputs.h"

namespace rooftile {
namespace {

SurfacePoint point(double m, double n, double k, double value) {
  return {log_sizes(m, n, k), value};
}

TEST(Surface, PassesThroughPointsOnWholeOctaves) {
  const std::vector<SurfacePoint> points = {point(1, 1, 1, 3.0), point(64, 2, 1024, -1.0),
                                            point(8, 256, 4, 0.5), point(512, 512, 512, 7.0)};
  const Surface surface(points);
  for (const SurfacePoint& p : points) EXPECT_NEAR(surface.at(p.at), p.value, 1e-9);
}

TEST(Surface, OnePointGivesAConstant) {
  const std::vector<SurfacePoint> points = {point(100, 7, 33, 2.5)};
  const Surface surface(points);
  EXPECT_NEAR(surface.at(log_sizes(1, 1, 1)), 2.5, 1e-12);
  EXPECT_NEAR(surface.at(log_sizes(5000, 9, 1)), 2.5, 1e-12);
}

TEST(Surface, SquaresAloneAreEnough) {
  const std::vector<SurfacePoint> points = {point(64, 64, 64, 1.0), point(256, 256, 256, 2.0),
                                            point(1024, 1024, 1024, 4.0)};
  const Surface surface(points);
  EXPECT_NEAR(surface.at(log_sizes(256, 256, 256)), 2.0, 1e-9);
  const double between = surface.at(log_sizes(512, 512, 512));
  EXPECT_GT(between, 2.0);
  EXPECT_LT(between, 4.0);
}

TEST(Surface, AveragesPointsWithEqualSizes) {
  const std::vector<SurfacePoint> points = {point(16, 16, 16, 1.0), point(16, 16, 16, 3.0),
                                            point(64, 16, 16, 5.0)};
  EXPECT_NEAR(Surface(points).at(log_sizes(16, 16, 16)), 2.0, 1e-9);
}

TEST(Surface, OutsideTheBoxTheNearestPointOfItsBoundaryCounts) {
  const std::vector<SurfacePoint> points = {point(4, 4, 4, 1.0), point(64, 16, 256, 2.0),
                                            point(16, 64, 4, 4.0)};
  const Surface surface(points);
  EXPECT_EQ(surface.at(log_sizes(1e6, 16, 256)), surface.at(log_sizes(64, 16, 256)));
  EXPECT_EQ(surface.at(log_sizes(1, 1, 1)), surface.at(log_sizes(4, 4, 4)));
}

TEST(NearestPoint, IsFound) {
  const std::vector<SurfacePoint> points = {point(4, 4, 4, 0), point(1024, 4, 4, 0),
                                            point(4, 4, 1024, 0)};
  const NearestPoint nearest(points);
  EXPECT_EQ(nearest.of(log_sizes(3, 5, 6)), 0u);
  EXPECT_EQ(nearest.of(log_sizes(700, 3, 9)), 1u);
  EXPECT_EQ(nearest.of(log_sizes(9, 3, 7000)), 2u);
}

TEST(Surface, SizesBelowOneCountAsOne) { EXPECT_EQ(log_sizes(0, 1, 8), (LogSizes{0, 0, 3})); }

TEST(Surface, SmoothingDoesNotFollowALonePoint) {
  std::vector<SurfacePoint> points;
  for (double m : {1., 16., 256.})
    for (double n : {1., 16., 256.})
      for (double k : {1., 16., 256.}) points.push_back(point(m, n, k, 1.0));
  SurfacePoint& lone = points[13];  // the middle point
  lone.value = 3.0;
  const Surface through(points), smoothed(points, 1);
  EXPECT_NEAR(through.at(lone.at), 3.0, 1e-9);
  EXPECT_LT(smoothed.at(lone.at), 2.8);
  EXPECT_GT(smoothed.at(lone.at), 1.0);
  // With smoothing, the points around it are closer to their values than in an exact
  // interpolation.
  const LogSizes beside = log_sizes(32, 16, 16);
  EXPECT_LT(smoothed.at(beside), through.at(beside));
  // Stronger smoothing approaches the average.
  EXPECT_NEAR(Surface(points, 1e6).at(lone.at), (26 * 1.0 + 3.0) / 27, 1e-3);
}

// Normal equations of the spline: it misses a point by that point's weight times the smoothing,
// and weights sum to 0.
TEST(Surface, SmoothingResidualsSumToZero) {
  const std::vector<SurfacePoint> points = {point(1, 1, 1, 3.0), point(64, 2, 1024, -1.0),
                                            point(8, 256, 4, 0.5), point(512, 512, 512, 7.0)};
  for (double smoothing : {0.5, 1.0, 8.0}) {
    const Surface surface(points, smoothing);
    double missed = 0, most = 0;
    for (const SurfacePoint& p : points) {
      missed += surface.at(p.at) - p.value;
      most = std::max(most, std::abs(surface.at(p.at) - p.value));
    }
    EXPECT_NEAR(missed, 0, 1e-9);
    EXPECT_GT(most, 0.1);
  }
}

TEST(Surface, SmoothingKeepsAConstant) {
  const std::vector<SurfacePoint> points = {point(4, 4, 4, 2.0), point(64, 16, 256, 2.0),
                                            point(16, 64, 4, 2.0)};
  const Surface surface(points, 1);
  for (const SurfacePoint& p : points) EXPECT_NEAR(surface.at(p.at), 2.0, 1e-12);
}

// A spline that overshoots between its points would send calls to the wrong tier.
RC_GTEST_PROP(Surface, StaysNearTheRangeOfItsPoints, ()) {
  std::vector<SurfacePoint> points;
  const int count = *rc::gen::inRange(1, 40);
  for (int i = 0; i < count; ++i)
    points.push_back(point(static_cast<double>(random_size()), static_cast<double>(random_size()),
                           static_cast<double>(random_size()), uniform(0, 1)));
  const Surface surface(points);
  for (int i = 0; i < 20; ++i) {
    const double value = surface.at(log_sizes(random_problem()));
    RC_ASSERT(value > -1 && value < 2);
  }
}

RC_GTEST_PROP(Surface, FittingSurfacesTogetherEqualsFittingEachAlone, ()) {
  constexpr double kSmoothing = 1;
  std::vector<LogSizes> places;
  std::vector<std::vector<double>> values(3);
  const int count = *rc::gen::inRange(1, 40);
  for (int i = 0; i < count; ++i) {
    const bool again = i > 0 && *rc::gen::inRange(0, 5) == 0;
    places.push_back(again ? places.front() : log_sizes(random_problem()));
    for (std::vector<double>& of_surface : values) of_surface.push_back(uniform(-10, 10));
  }
  const std::vector<Surface> together = Surface::through(places, values, kSmoothing);
  const LogSizes asked = log_sizes(random_problem());
  // The system's eigenvalues lie between the smoothing and the sum of a row's entries, each at
  // most three times the longest distance. The relative error of its solution is their ratio times
  // the number of points times epsilon.
  const double n = count, longest = 3 * std::log2(5000.0);
  const double error =
      n * std::numeric_limits<double>::epsilon() * n * (3 * longest + kSmoothing) / kSmoothing;
  // A weight is at most a value over the smoothing, and each is multiplied by a distance.
  const double tolerance = error * n * longest * 20 / kSmoothing;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<SurfacePoint> alone;
    for (std::size_t at = 0; at < places.size(); ++at) alone.push_back({places[at], values[i][at]});
    RC_ASSERT(std::abs(together[i].at(asked) - Surface(alone, kSmoothing).at(asked)) <= tolerance);
  }
}

TEST(Surface, FollowsASmoothFunctionBetweenItsPoints) {
  // A saturating rate, as BLAS libraries have it: log2 of x / (x + 64) in each size.
  const auto truth = [](const LogSizes& s) {
    double value = 0;
    for (double x : s) value -= std::log2(1 + 64 / std::exp2(x));
    return value;
  };
  std::vector<SurfacePoint> points;
  for (double m : {0., 3., 6., 9., 12.})
    for (double n : {0., 3., 6., 9., 12.})
      for (double k : {0., 3., 6., 9., 12.}) points.push_back({{m, n, k}, truth({m, n, k})});
  const Surface surface(points);
  for (double m : {1.5, 4.2, 7.9})
    for (double n : {0.7, 5.1, 10.3})
      for (double k : {2.2, 8.8, 11.0})
        EXPECT_NEAR(surface.at({m, n, k}), truth({m, n, k}), 0.35) << m << ' ' << n << ' ' << k;
}

}  // namespace
}  // namespace rooftile
