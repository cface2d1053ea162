#include "tuner/problems/logged_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/model/calibration.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class LoggedProblemsTest : public ::testing::Test {
 protected:
  LoggedProblemsTest() { device_ = store_->device_id({.name = "a device"}); }
  ScratchFolder folder_;
  std::optional<Store> store_{folder_ / "rooftile.db"};
  RowId device_ = 0;
};

TEST_F(LoggedProblemsTest, MostExpensiveBucketFirstWithOneProblemOfEach) {
  store_->log_untuned(device_, packed_problem(64, 64, 64), 50);
  store_->log_untuned(device_, packed_problem(600, 600, 600), 2);
  store_->log_untuned(device_, packed_problem(1000, 1000, 1000), 1);  // in the same bucket
  store_->log_untuned(device_, packed_problem(300, 300, 300), 9);
  const std::vector<TuneProblem> problems = logged_problems(*store_, device_);
  ASSERT_THAT(problems, SizeIs(3));
  EXPECT_EQ(problems[0].problem, packed_problem(1000, 1000, 1000));
  EXPECT_EQ(problems[0].note, "3 calls without a tuned kernel");
  EXPECT_EQ(problems[1].problem, packed_problem(300, 300, 300));
  EXPECT_EQ(problems[2].problem, packed_problem(64, 64, 64));
  // Without a calibration a problem weighs as much as its calls compute.
  EXPECT_EQ(problems[0].weight, 2 * 2 * 6e2 * 6e2 * 6e2 + 2e9);
  EXPECT_EQ(problems[1].weight, 9 * 2 * 3e2 * 3e2 * 3e2);
}

// A matrix-vector product is bound by memory: it has few FLOP and takes long.
TEST_F(LoggedProblemsTest, BucketsAreOrderedByTimeWhereTheDeviceIsCalibrated) {
  store_->log_untuned(device_, packed_problem(4096, 1, 4096), 10);
  store_->log_untuned(device_, packed_problem(512, 512, 512), 10);
  EXPECT_EQ(logged_problems(*store_, device_)[0].problem.n, 512);
  store_->add_calibration(device_, to_figures({.device = {.submit_ns = 1e4,
                                                          .fma_gflops = 1e4,
                                                          .levels = {{"memory", 10}},
                                                          .compute_units = 8}}));
  EXPECT_EQ(logged_problems(*store_, device_)[0].problem.n, 1);
}

TEST_F(LoggedProblemsTest, LogsOfOtherDevicesAreIgnored) {
  const RowId other = store_->device_id({.name = "another", .device_uuid = "ff"});
  store_->log_untuned(other, packed_problem(64, 64, 64));
  EXPECT_THAT(logged_problems(*store_, device_), IsEmpty());
}

TEST(ProblemsWithinTest, GrowWithTheBudgetFromOne) {
  EXPECT_EQ(problems_within(0.5), 1u);
  EXPECT_EQ(problems_within(60), 12u);
}

}  // namespace
}  // namespace rooftile
