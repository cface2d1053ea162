// What measured calls change in the division of a problem.
#include "runtime/dispatch/split_course.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace rooftile {
namespace {

using ::testing::HasSubstr;

/// Two devices of 1 ms each, for the rows of a problem.
SplitDecision two_equal() {
  SplitDecision d = {.workers = {{.name = "first"}, {.name = "second"}}, .unsplit_ns = 1e6};
  for (int resource = 0; resource < 2; ++resource) {
    Party party = {.resource = resource};
    for (int i = 1; i <= 16; ++i) party.share_ns.push_back(1e6 * i / 16);
    d.parties.push_back(std::move(party));
  }
  choose_plan(d, packed_problem(6400, 100, 100), "first");
  return d;
}

/// Repeats calls in which the workers take so many times as long as predicted.
std::vector<PlannedShare> after_calls(SplitCourse& course, const std::vector<double>& factors,
                                      int calls = 10) {
  for (int call = 0; call < calls; ++call) {
    const std::vector<PlannedShare> shares = course.shares();
    std::vector<double> took;
    for (const PlannedShare& share : shares)
      took.push_back(static_cast<double>(share.size) / 6400 * 1e6 * factors[share.party]);
    course.record(shares, took);
  }
  return course.shares();
}

TEST(SplitCourse, FollowsThePredictionAtFirst) {
  const SplitCourse course(two_equal());
  ASSERT_EQ(course.shares().size(), 2u);
  EXPECT_EQ(course.shares()[0].size, 3200);
  EXPECT_TRUE(course.decision().wins);
  EXPECT_EQ(shares_text(course.decision(), course.shares()), "first 3200, second 3200 rows");
  EXPECT_THAT(course.decision().reason,
              HasSubstr("first and second together 500.0 us, first alone 1.00 ms"));
}

TEST(SplitCourse, MovesRowsToTheWorkerThatIsFasterThanPredicted) {
  SplitCourse course(two_equal());
  const std::vector<PlannedShare> shares = after_calls(course, {3, 1});
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_NEAR(static_cast<double>(shares[0].size), 1600, 64);
  EXPECT_EQ(shares[0].size + shares[1].size, 6400);
}

TEST(SplitCourse, StaysWhereTheSharesEndTogether) {
  SplitCourse course(two_equal());
  EXPECT_EQ(after_calls(course, {1.5, 1.5})[0].size, 3200);
}

TEST(SplitCourse, OneDisturbedCallChangesNothing) {
  SplitCourse course(two_equal());
  after_calls(course, {1, 1}, 4);
  after_calls(course, {20, 1}, 1);
  EXPECT_EQ(after_calls(course, {1, 1}, 4)[0].size, 3200);
}

TEST(SplitCourse, TimesOfOtherSharesDoNotCount) {
  SplitCourse course(two_equal());
  const std::vector<PlannedShare> before = course.shares();
  after_calls(course, {3, 1});
  const std::vector<PlannedShare> moved = course.shares();
  for (int call = 0; call < 10; ++call)  // Calls of another thread that began before the change.
    EXPECT_FALSE(course.record(before, std::vector<double>{1e9, 1}));
  EXPECT_EQ(course.shares(), moved);
}

TEST(SplitCourse, AWorkerThatIsFarFasterComputesAlone) {
  SplitDecision d = two_equal();
  for (double& ns : d.parties[1].share_ns) ns *= 100;
  choose_plan(d, packed_problem(6400, 100, 100), "first");
  EXPECT_FALSE(d.wins) << "a split must be worth it";
  d.unsplit_ns = 1e8;  // The context's own device is the slow one.
  choose_plan(d, packed_problem(6400, 100, 100), "second");
  EXPECT_TRUE(d.wins);
  EXPECT_EQ(shares_text(d, d.plan.shares), "first 6400 rows");
}

TEST(SplitCourses, KeepOnePlanForEachProblemAndState) {
  SplitCourses courses;
  const Problem p = packed_problem(10, 20, 30), other = packed_problem(10, 20, 31);
  const auto course = std::make_shared<SplitCourse>(two_equal());
  courses.store(p, {}, 7, course);
  EXPECT_EQ(courses.find(p, {}, 7), course);
  EXPECT_EQ(courses.find(p, {}, 8), nullptr);
  EXPECT_EQ(courses.find(other, {}, 7), nullptr);
  EXPECT_EQ(courses.find(p, {.check_spots = true}, 7), nullptr);
}

}  // namespace
}  // namespace rooftile
