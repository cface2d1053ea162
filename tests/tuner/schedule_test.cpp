// The order of a run's steps, on a simulated clock: each problem's steps take a known time, and a
// batch brings a known gain.
#include "tuner/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace rooftile {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;

struct Simulated {
  double look_s = 1, batch_s = 2, finish_s = 3;  // Their true durations.
  double first_gain = 0.5;                       // Of the nth batch: first_gain / (n + 1).
  double expected_ratio = 1;   // Expected duration of a batch or of finishing over the true one.
  std::size_t batches = 1000;  // Until the search ends.
  double weight = 1;
  bool undecided = false;
};

/// What became of each problem, and the order of all steps.
struct Course {
  std::vector<TuneStep> steps;
  std::vector<double> begins_s;  // Of each step.
  std::vector<std::size_t> batches;
  std::vector<bool> looked, finished;
  double finishing_s = 0;  // Time given to kFinish.
  double end_s = 0;
};

Course simulate(const std::vector<Simulated>& problems, double total_s) {
  Course run;
  run.batches.resize(problems.size());
  run.looked.resize(problems.size());
  run.finished.resize(problems.size());
  std::vector<StepOffer> offers;
  for (const Simulated& problem : problems)
    offers.push_back({.undecided = problem.undecided, .weight = problem.weight});
  double now_s = 0;
  while (const auto step = next_step(offers, total_s - now_s, total_s)) {
    const std::size_t i = step->problem;
    const Simulated& problem = problems[i];
    run.steps.push_back(*step);
    run.begins_s.push_back(now_s);
    EXPECT_EQ(step->stage, offers[i].stage == TuneStage::kSearch ? step->stage : offers[i].stage);
    if (step->stage == TuneStage::kFirstLook) {
      now_s += problem.look_s;
      run.looked[i] = true;
      offers[i].stage = TuneStage::kSearch;
    } else if (step->stage == TuneStage::kSearch) {
      now_s += problem.batch_s;
      offers[i].searched_s += problem.batch_s;
      if (++run.batches[i] == problem.batches) offers[i].stage = TuneStage::kFinish;
    } else {
      const double used_s = std::min(step->seconds, problem.finish_s);
      now_s += used_s;
      run.finishing_s += used_s;
      run.finished[i] = true;
      offers[i].stage = TuneStage::kDone;
    }
    offers[i].cost_s = offers[i].first_s = problem.batch_s * problem.expected_ratio;
    offers[i].finish_s = problem.finish_s * problem.expected_ratio;
    offers[i].gain = problem.first_gain / static_cast<double>(run.batches[i] + 1);
  }
  run.end_s = now_s;
  return run;
}

TEST(Schedule, EveryProblemHasItsFirstLookBeforeAnySearch) {
  const Course run = simulate(std::vector<Simulated>(15), 120);
  ASSERT_GE(run.steps.size(), 15u);
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(run.steps[i].problem, i);
    EXPECT_EQ(run.steps[i].stage, TuneStage::kFirstLook);
  }
}

TEST(Schedule, FirstLooksShareTheTimeThatIsLeftEqually) {
  const std::vector<StepOffer> offers(4);
  EXPECT_DOUBLE_EQ(next_step(offers, 20, 100)->seconds, 5);
}

TEST(Schedule, WhatAnEarlierRunLeftUndecidedComesFirst) {
  std::vector<Simulated> problems(4);
  problems[2].undecided = true;
  const Course run = simulate(problems, 100);
  ASSERT_GE(run.steps.size(), 2u);
  EXPECT_EQ(run.steps[0].problem, 2u);
  EXPECT_EQ(run.steps[1].problem, 0u);
}

TEST(Schedule, EveryProblemIsFinishedWithinTheTime) {
  std::vector<Simulated> problems(15);
  for (std::size_t i = 0; i < problems.size(); ++i)
    problems[i].batch_s = 0.5 + static_cast<double>(i);
  for (const double total_s : {30.0, 60.0, 150.0, 900.0}) {
    const Course run = simulate(problems, total_s);
    EXPECT_THAT(run.finished, Each(true)) << total_s;
    // The last batch was expected to take as long as it took, so that nothing is late.
    EXPECT_LE(run.end_s, total_s + 1e-9) << total_s;
  }
}

TEST(Schedule, ReservesTheTimeOfTheFinalsBeforeTheSearchSpendsIt) {
  const std::vector<Simulated> problems(6, {.look_s = 1, .batch_s = 2, .finish_s = 3});
  const Course run = simulate(problems, 100);
  EXPECT_DOUBLE_EQ(run.finishing_s, 6 * 3);
  const double searched_s =
      2.0 * static_cast<double>(std::accumulate(run.batches.begin(), run.batches.end(), 0u));
  EXPECT_THAT(searched_s, testing::AllOf(Ge(100 - 6 - 18 - 2), Le(100 - 6 - 18)));
}

// With empty caches a batch's kernels may take longer to compile than there is time for.
TEST(Schedule, ABatchOfWhichOnlyTheFirstCandidateFitsRuns) {
  StepOffer offer{
      .stage = TuneStage::kSearch, .gain = 1, .cost_s = 16, .first_s = 2, .finish_s = 3};
  const auto step = next_step({&offer, 1}, 10, 20);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->stage, TuneStage::kSearch);
  EXPECT_DOUBLE_EQ(step->seconds, 7) << "it ends in time for the finals";
  offer.first_s = 8;
  EXPECT_EQ(next_step({&offer, 1}, 10, 20)->stage, TuneStage::kFinish);
}

TEST(Schedule, ReservesNoMoreThanItsShareForFinals) {
  const std::vector<Simulated> problems(6, {.look_s = 1, .batch_s = 2, .finish_s = 100});
  const Course run = simulate(problems, 100);
  EXPECT_NEAR(run.finishing_s, kMostReserved * 100, 2.0);
  EXPECT_THAT(run.finished, Each(true));
}

TEST(Schedule, FinalsAreSharedByWhatTheyAreExpectedToTake) {
  std::vector<StepOffer> offers(
      2, {.stage = TuneStage::kSearch, .cost_s = 50, .first_s = 50, .finish_s = 10});
  offers[1].finish_s = 30;
  const auto step = next_step(offers, 80, 200);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->stage, TuneStage::kFinish);
  EXPECT_DOUBLE_EQ(step->seconds, 80 * 10 / 40.0);
}

TEST(Schedule, FinalsThatTakeLongDoNotStarveTheOthers) {
  std::vector<StepOffer> offers(
      4, {.stage = TuneStage::kSearch, .cost_s = 500, .first_s = 500, .finish_s = 2});
  offers[1].finish_s = 100;
  offers[2].finish_s = 100;
  offers[2].weight = 3;
  const auto seconds = [&](double left_s) { return next_step(offers, left_s, 1000)->seconds; };
  EXPECT_DOUBLE_EQ(seconds(44), 2) << "the first problem gets all that it needs";
  offers[0].stage = TuneStage::kDone;
  EXPECT_DOUBLE_EQ(seconds(42), 10) << "of the 40 s of two, a share of their weights 1 and 3";
  offers[1].stage = TuneStage::kDone;
  EXPECT_DOUBLE_EQ(seconds(32), 30);
  EXPECT_DOUBLE_EQ(seconds(1), 0.75) << "where no problem gets what it needs";
}

TEST(Schedule, ASecondGoesWhereTheExpectedGainInASecondIsLargest) {
  std::vector<StepOffer> offers(3, {.stage = TuneStage::kSearch, .gain = 0.1, .cost_s = 1});
  offers[1].cost_s = 0.5;
  EXPECT_EQ(next_step(offers, 100, 100)->problem, 1u);
  offers[2].gain = 0.3;
  EXPECT_EQ(next_step(offers, 100, 100)->problem, 2u);
  offers[0].weight = 4;
  EXPECT_EQ(next_step(offers, 100, 100)->problem, 0u);
}

TEST(Schedule, WhatWaitsForCompilersGoesLast) {
  std::vector<StepOffer> offers(
      2, {.stage = TuneStage::kSearch, .gain = 0.1, .cost_s = 1, .waits = true});
  offers[1].gain = 0.01;
  EXPECT_EQ(next_step(offers, 100, 100)->problem, 0u) << "where both wait";
  offers[1].waits = false;
  EXPECT_EQ(next_step(offers, 100, 100)->problem, 1u);
  offers[0].stage = TuneStage::kFirstLook;
  EXPECT_EQ(next_step(offers, 100, 100)->problem, 1u) << "also before a first look";
  offers[1].stage = TuneStage::kFirstLook;
  EXPECT_EQ(next_step(offers, 100, 100)->problem, 1u);
  offers[1].waits = true;
  EXPECT_EQ(next_step(offers, 100, 100)->problem, 0u);
}

TEST(Schedule, AFirstLookThatWaitsLosesNoTimeToFinals) {
  std::vector<StepOffer> offers(2, {.stage = TuneStage::kFirstLook, .waits = true});
  // Its batch no longer fits, or its search has ended: only finals could be next.
  offers[1] = {.stage = TuneStage::kSearch, .cost_s = 6, .first_s = 6, .finish_s = 5};
  for (const TuneStage stage : {TuneStage::kSearch, TuneStage::kFinish}) {
    offers[1].stage = stage;
    const auto step = next_step(offers, 10, 100);
    EXPECT_EQ(step->problem, 1u);
    EXPECT_EQ(step->stage, TuneStage::kFinish);
    EXPECT_EQ(step->seconds, 5);
  }
  offers[1].stage = TuneStage::kDone;
  EXPECT_EQ(next_step(offers, 10, 100)->stage, TuneStage::kFirstLook);
}

TEST(Schedule, ABatchThatTakesTheReservedTimeDoesNotRun) {
  std::vector<StepOffer> offers(
      2, {.stage = TuneStage::kSearch, .gain = 1, .cost_s = 6, .first_s = 6, .finish_s = 5});
  offers[1].cost_s = offers[1].first_s = 4;
  offers[1].gain = 0.01;
  const auto step = next_step(offers, 15, 100);
  EXPECT_EQ(step->problem, 1u) << "10 s are reserved, and its batch takes the other 5 s at most";
  EXPECT_EQ(step->stage, TuneStage::kSearch);
  EXPECT_EQ(next_step(offers, 13, 100)->stage, TuneStage::kFinish);
}

TEST(Schedule, NoProblemStarves) {
  // The gain of a batch of the last problem is ten times smaller and takes ten times as long, and
  // the gain of the others does not fall.
  std::vector<StepOffer> offers(
      4, {.stage = TuneStage::kSearch, .gain = 1, .cost_s = 1, .finish_s = 0});
  offers[3].gain = 0.1;
  offers[3].cost_s = 10;
  double now_s = 0;
  const double total_s = 2000;
  while (const auto step = next_step(offers, total_s - now_s, total_s)) {
    if (step->stage != TuneStage::kSearch) break;
    StepOffer& offer = offers[step->problem];
    offer.searched_s += offer.cost_s;
    now_s += offer.cost_s;
  }
  EXPECT_GE(offers[3].searched_s, kLeastShare * total_s / 4 - 2 * offers[3].cost_s);
  EXPECT_LE(offers[3].searched_s, kLeastShare * total_s / 4 + offers[3].cost_s);
}

TEST(Schedule, AProblemWhoseSearchHasEndedIsFinishedAtOnce) {
  std::vector<Simulated> problems(3);
  problems[1].batches = 1;
  const Course run = simulate(problems, 200);
  const auto finished = std::ranges::find_if(run.steps, [](const TuneStep& step) {
    return step.problem == 1 && step.stage == TuneStage::kFinish;
  });
  ASSERT_NE(finished, run.steps.end());
  EXPECT_EQ((finished - 1)->problem, 1u);
  EXPECT_EQ((finished - 1)->stage, TuneStage::kSearch);
  EXPECT_EQ((finished + 1)->stage, TuneStage::kSearch) << "the others go on";
}

TEST(Schedule, WrongExpectationsLeaveTimeForTheFinals) {
  // Batches and finals take three times as long as expected.
  const std::vector<Simulated> problems(
      8, {.look_s = 1, .batch_s = 1.5, .finish_s = 3, .expected_ratio = 1.0 / 3});
  const Course run = simulate(problems, 100);
  EXPECT_THAT(run.finished, Each(true));
  EXPECT_LE(run.end_s, 100 + 1.5);
}

TEST(Schedule, AStopAfterAnyStepFindsAFirstLookOfEveryProblemThatWasBegun) {
  const Course run = simulate(std::vector<Simulated>(5), 80);
  std::vector<bool> looked(5);
  for (const TuneStep& step : run.steps) {
    if (step.stage == TuneStage::kFirstLook) looked[step.problem] = true;
    EXPECT_TRUE(looked[step.problem]);
  }
}

TEST(Schedule, NothingIsLeftWithoutTimeOrWithoutWork) {
  const std::vector<StepOffer> offers(2);
  EXPECT_FALSE(next_step(offers, 0, 10));
  EXPECT_FALSE(next_step(offers, -1, 10));
  EXPECT_FALSE(next_step(std::vector<StepOffer>(2, {.stage = TuneStage::kDone}), 5, 10));
  EXPECT_FALSE(next_step({}, 5, 10));
}

TEST(Schedule, OneProblemAloneIsLookedAtSearchedAndFinished) {
  const Course run = simulate({{.batches = 2}}, 60);
  std::vector<TuneStage> stages;
  for (const TuneStep& step : run.steps) stages.push_back(step.stage);
  EXPECT_THAT(stages, ElementsAre(TuneStage::kFirstLook, TuneStage::kSearch, TuneStage::kSearch,
                                  TuneStage::kFinish));
}

}  // namespace
}  // namespace rooftile
