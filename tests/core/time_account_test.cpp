#include "core/time_account.h"

#include <gtest/gtest.h>

#include <numeric>

namespace rooftile {
namespace {

double of(const ActivitySeconds& seconds, Activity activity) {
  return seconds[static_cast<std::size_t>(activity)];
}
double sum(const ActivitySeconds& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

// All times are sums of powers of two, which are exact.
TEST(TimeAccount, EachMomentIsOfTheInnermostActivityAndAllAddUp) {
  double now_s = 100;
  TimeAccount account(Activity::kChoosing, [&] { return now_s; });
  now_s += 1;
  {
    const auto host = account.during(Activity::kHost);
    now_s += 2;
    {
      const auto measuring = account.during(Activity::kMeasuring);
      now_s += 4;
      account.shift(Activity::kKernels, 0.5);
    }
    now_s += 8;
  }
  now_s += 16;
  const ActivitySeconds seconds = account.seconds();
  EXPECT_EQ(of(seconds, Activity::kChoosing), 17);
  EXPECT_EQ(of(seconds, Activity::kHost), 10);
  EXPECT_EQ(of(seconds, Activity::kMeasuring), 3.5);
  EXPECT_EQ(of(seconds, Activity::kKernels), 0.5);
  EXPECT_EQ(sum(seconds), 31);
}

TEST(TimeAccount, WhatAWorkerDidIsPartOfTheRequest) {
  double now_s = 0;
  TimeAccount worker(Activity::kMeasuring, [&] { return now_s; });
  now_s += 0.25;
  worker.shift(Activity::kCompiling, 0.125);
  TimeAccount account(Activity::kMeasuring, [&] { return now_s; });
  now_s += 1;
  account.shift(worker.seconds());
  EXPECT_EQ(sum(account.seconds()), 1);
  EXPECT_EQ(of(account.seconds(), Activity::kCompiling), 0.125);
}

TEST(TimeAccount, WhatIsLeftOutIsInNoActivity) {
  double now_s = 0;
  TimeAccount account(Activity::kChoosing, [&] { return now_s; });
  now_s += 8;
  account.leave_out(6);
  EXPECT_EQ(sum(account.seconds()), 2);
}

TEST(TimeAccount, JsonIsReadAgainAndWhatIsNoTimeIsIgnored) {
  ActivitySeconds seconds = {};
  for (std::size_t i = 0; i < kActivities; ++i) seconds[i] = static_cast<double>(i) / 4;
  EXPECT_EQ(parse_activities(activities_json(seconds)), seconds);
  for (const char* other : {"", "3", "[1]", R"({"kernels":"2","compiling":-1,"dancing":4})"})
    EXPECT_EQ(parse_activities(other), ActivitySeconds()) << other;
}

TEST(TimeAccount, JsonLeavesOutWhatItWouldWriteAsZero) {
  ActivitySeconds seconds = {};
  seconds[0] = 4e-7;
  seconds[1] = 6e-7;
  EXPECT_EQ(activities_json(seconds), R"({"kernels":0.000001})");
}

TEST(TimeAccount, TextNamesTheLongestFirst) {
  ActivitySeconds seconds = {};
  seconds[static_cast<std::size_t>(Activity::kKernels)] = 0.7;
  seconds[static_cast<std::size_t>(Activity::kCompiling)] = 41.06;
  seconds[static_cast<std::size_t>(Activity::kHost)] = 0.04;
  EXPECT_EQ(activities_text(seconds), "41.1 compiling, 0.7 in kernels");
}

}  // namespace
}  // namespace rooftile
