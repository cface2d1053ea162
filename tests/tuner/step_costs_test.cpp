#include "tuner/step_costs.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

TEST(StepCosts, CompilationFollowsTheCompilesOfTheRun) {
  StepCosts costs;
  EXPECT_DOUBLE_EQ(costs.compile_s(400), 2 * costs.compile_s(200)) << "proportional to the work";
  const double before_s = costs.compile_s(500);
  for (int i = 0; i < 200; ++i) costs.compiled(500, 4);
  EXPECT_GT(costs.compile_s(500), 2 * before_s);
  EXPECT_NEAR(costs.compile_s(500), 4, 0.1);
}

TEST(StepCosts, CertificatesFollowThoseOfTheRun) {
  StepCosts costs;
  const double before_s = costs.certificate_s();
  for (int i = 0; i < 100; ++i) costs.certified(6);
  EXPECT_LT(before_s, 1);
  EXPECT_NEAR(costs.certificate_s(), 6, 0.2);
}

TEST(StepCosts, ACertificateIsExpectedSoonerOnAGpu) {
  StepCosts costs = StepCosts::of_gpu();
  EXPECT_LT(costs.certificate_s(), StepCosts().certificate_s());
  for (int i = 0; i < 100; ++i) costs.certified(6);
  EXPECT_NEAR(costs.certificate_s(), 6, 0.2);
}

TEST(StepCosts, GainsFallWithTheBatchesUntilSomeWereSeen) {
  StepCosts costs;
  for (std::size_t batch = 0; batch < 20; ++batch) {
    EXPECT_GT(costs.gain(batch), 0);
    EXPECT_LT(costs.gain(batch + 1), costs.gain(batch));
  }
  const double other = costs.gain(3);
  for (int i = 0; i < 300; ++i) costs.gained(4, 0.7);
  EXPECT_NEAR(costs.gain(4), 0.7, 0.01);
  EXPECT_EQ(costs.gain(3), other);
}

TEST(StepCosts, AWorseTimeIsNoGain) {
  StepCosts costs, none;
  costs.gained(0, -5);
  none.gained(0, 0);
  EXPECT_EQ(costs.gain(0), none.gain(0));
}

TEST(StepCosts, RequestsFollowThoseOfTheRun) {
  StepCosts costs;
  EXPECT_DOUBLE_EQ(costs.request_s(), 0.005);
  costs.requested(0, 0);
  EXPECT_DOUBLE_EQ(costs.request_s(), 0.005);
  costs.requested(2000, 2);
  EXPECT_NEAR(costs.request_s(), 0.001, 1e-4);
}

TEST(StepCosts, ExpectedTimesAndClaimsAreCorrectedByWhatCame) {
  StepCosts costs;
  EXPECT_EQ(costs.time_ratio(), 1);
  EXPECT_EQ(costs.claim_ratio(), 1);
  for (int i = 0; i < 100; ++i) {
    costs.took(6, 2);
    costs.claimed(0.4, 0.1);
  }
  EXPECT_NEAR(costs.time_ratio(), 3, 0.05);
  EXPECT_NEAR(costs.claim_ratio(), 0.25, 0.01);
}

}  // namespace
}  // namespace rooftile
