#include "tuner/search/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace rooftile {
namespace {

Eigen::MatrixXd column(std::initializer_list<double> values) {
  Eigen::MatrixXd result(static_cast<Eigen::Index>(values.size()), 1);
  Eigen::Index row = 0;
  for (const double value : values) result(row++, 0) = value;
  return result;
}

Eigen::MatrixXd none(Eigen::Index rows) { return {rows, 0}; }

GaussianProcessPrior prior() {
  return {.constant_deviation = 10,
          .slopes = Eigen::VectorXd(),
          .signal_deviation = 1,
          .noise_deviation = 1e-3,
          .length_scale = 1};
}

TEST(GaussianProcessTest, PassesThroughItsObservations) {
  const Eigen::MatrixXd x = column({0, 1, 2.5});
  const Eigen::VectorXd y = column({3, 4, 2}).col(0);
  const GaussianProcess process(prior(), x, none(3), y);
  const auto predicted = process.predict(x, none(3));
  for (Eigen::Index i = 0; i < 3; ++i) {
    EXPECT_NEAR(predicted.mean[i], y[i], 1e-3);
    EXPECT_LT(predicted.deviation[i], 2e-3);
  }
}

TEST(GaussianProcessTest, FarFromObservationsItPredictsTheMean) {
  const GaussianProcess process(prior(), column({0, 0.5, 1}), none(3), column({3, 4, 5}).col(0));
  const auto predicted = process.predict(column({100}), none(1));
  EXPECT_NEAR(predicted.mean[0], 4, 0.2);
  // The signal's own deviation, plus the uncertainty of the mean from three correlated values.
  EXPECT_GT(predicted.deviation[0], 1.0);
  EXPECT_LT(predicted.deviation[0], 2.0);
}

TEST(GaussianProcessTest, FollowsATrendBeyondTheData) {
  GaussianProcessPrior p = prior();
  p.slopes = Eigen::VectorXd::Constant(1, 0.5);
  p.slope_deviations = Eigen::VectorXd::Constant(1, 1);
  const Eigen::MatrixXd x = column({0, 1, 2, 3}), same = column({0, 0, 0, 0});
  const GaussianProcess process(p, same, x, column({1, 3, 5, 7}).col(0));
  EXPECT_NEAR(process.predict(column({0}), column({6})).mean[0], 13, 0.1);
}

// For one value y under a prior of variance v: -(y^2 / v + log v + log 2 pi) / 2.
TEST(GaussianProcessTest, LikelihoodOfOneValueIsTheNormalDensity) {
  GaussianProcessPrior p = prior();
  p.constant_deviation = 2;
  p.signal_deviation = 3;
  p.noise_deviation = 1;
  const double v = 4 + 9 + 1, y = 1.7;
  const GaussianProcess process(p, column({0.3}), none(1), column({y}).col(0));
  EXPECT_NEAR(process.log_likelihood(),
              -0.5 * (y * y / v + std::log(v) + std::log(2 * std::numbers::pi)), 1e-12);
}

TEST(GaussianProcessTest, SmoothDataPreferALongLengthScale) {
  const Eigen::MatrixXd x = column({0, 0.5, 1, 1.5, 2, 2.5, 3});
  const Eigen::VectorXd y = (x.col(0).array() * 0.7).sin();
  GaussianProcessPrior smooth = prior(), rough = prior();
  smooth.length_scale = 2;
  rough.length_scale = 0.1;
  EXPECT_GT(GaussianProcess(smooth, x, none(7), y).log_likelihood(),
            GaussianProcess(rough, x, none(7), y).log_likelihood());
}

}  // namespace
}  // namespace rooftile
