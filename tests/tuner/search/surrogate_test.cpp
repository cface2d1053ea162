#include "tuner/search/surrogate.h"

#include <gtest/gtest.h>

#include "core/numbers/random.h"

namespace rooftile {
namespace {

/// Twelve kernels whose times follow two trends, octaves apart, and depend on nothing else.
class SurrogateTest : public testing::Test {
 protected:
  SurrogateTest() {
    Random random(5);
    for (Eigen::Index i = 0; i < kKernels; ++i) {
      features_(i, 0) = random.unit();
      for (const Eigen::Index trend : {0, 1}) trends_(i, trend) = 4 * random.unit() - 2;
      noise_[i] = 0.1 * random.unit();
    }
  }
  GaussianProcessPrior likeliest(double first_slope, double second_slope) const {
    return likeliest_prior(features_, trends_,
                           first_slope * trends_.col(0) + second_slope * trends_.col(1) + noise_);
  }

  static constexpr Eigen::Index kKernels = 12;
  Eigen::MatrixXd features_ = Eigen::MatrixXd(kKernels, 1);
  Eigen::MatrixXd trends_ = Eigen::MatrixXd(kKernels, 2);
  Eigen::VectorXd noise_ = Eigen::VectorXd(kKernels);
};

TEST_F(SurrogateTest, ATrendThatTimesFollowCounts) {
  const GaussianProcessPrior prior = likeliest(0.5, 0.5);
  EXPECT_GT(prior.slopes[1], 0);
  EXPECT_GT(prior.slope_deviations[1], 0);
}

TEST_F(SurrogateTest, ATrendThatTimesContradictIsLeftOut) {
  const GaussianProcessPrior prior = likeliest(1, 0);
  EXPECT_EQ(prior.slopes[1], 0);
  EXPECT_EQ(prior.slope_deviations[1], 0);
  EXPECT_GT(prior.slopes[0], 0);
}

TEST_F(SurrogateTest, TheFirstTrendIsNeverLeftOut) {
  const GaussianProcessPrior prior = likeliest(0, 0);
  EXPECT_GT(prior.slopes[0], 0);
  EXPECT_GT(prior.slope_deviations[0], 0);
}

}  // namespace
}  // namespace rooftile
