// The finals of problems: which kernels take part, how long they last, and what is stored of them.
#include "tests/tuner/tune_problems_fixture.h"

namespace rooftile {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Eq;
using ::testing::Ge;
using ::testing::SizeIs;

// All kernels look fast until the finals, and take longer in them: those that were not in the
// finals look fast for ever.
TEST_F(TuneProblemsTest, WhatWasTimedInTheFinalsRanksBeforeWhatOnlyLookedFast) {
  constexpr double kLaterNs = 0.95 * kDefaultNs;
  SingleRun run(*this, this->worker(kLaterNs));
  Search search(run.context, device_, problems_[0].problem);
  for (std::size_t i = 0; i < search.candidates().size(); ++i) search.measure(i, 2);
  ASSERT_GT(search.candidates().size(), 2 * kFinalists);
  std::ofstream(settled_) << "x";
  run.runner.certified(search.candidates()[0].variant, search.signature());
  QuietWait none;
  run_finals(search, Objective::kCall, none, [] { return false; });
  const std::vector<const Candidate*> order = search.preferred();
  for (std::size_t i = 0; i < kFinalists; ++i) {
    EXPECT_TRUE(order[i]->finalist) << i;
    EXPECT_DOUBLE_EQ(order[i]->total_ns(), kLaterNs) << i;
  }
  EXPECT_LT(order.back()->total_ns(), kLaterNs);
}

TEST_F(TuneProblemsTest, TheFinalsWaitWhileTheMachineIsSlowed) {
  constexpr double kSlowedNs = 1.8 * kOtherNs;
  SingleRun run(*this, this->worker(kSlowedNs, 1));
  Search search(run.context, device_, problems_[0].problem);
  for (std::size_t i = 0; i < search.candidates().size(); ++i) search.measure(i, 2);
  std::ofstream(settled_) << "x";
  run.runner.certified(search.candidates()[0].variant, search.signature());
  QuietWait wait(1, [] { return false; });
  run_finals(search, Objective::kCall, wait, [] { return false; });
  const std::vector<const Candidate*> order = search.preferred();
  for (std::size_t i = 0; i < kFinalists; ++i)
    EXPECT_THAT(order[i]->samples_ns, Each(Eq(kOtherNs))) << i;
}

TEST_F(TuneProblemsTest, TheFinalsDoNotWaitBehindTheirTime) {
  SingleRun run(*this, this->worker(1.8 * kOtherNs));
  Search search(run.context, device_, problems_[0].problem);
  for (std::size_t i = 0; i < search.candidates().size(); ++i) search.measure(i, 2);
  std::ofstream(settled_) << "x";
  run.runner.certified(search.candidates()[0].variant, search.signature());
  QuietWait wait(0.5, [] { return false; });
  const std::size_t measured = run.runner.measured();
  run_finals(search, Objective::kCall, wait, [&] { return run.runner.measured() > measured; });
  EXPECT_EQ(run.runner.measured(), measured + 1);
  EXPECT_TRUE(wait.wait(0.25)) << "none of the time for waits was used";
}

TEST_F(TuneProblemsTest, AWinnerOfAnotherProblemIsAFinalistEvenIfItLookedSlow) {
  SingleRun run(*this, this->worker(1.8 * kOtherNs, 1));
  Search search(run.context, device_, problems_[0].problem);
  const std::size_t winner = search.candidates().size() - 3;
  ASSERT_NE(winner, search.default_candidate());
  const Variant& variant = search.candidates()[winner].variant;
  store_ranked(
      store_, device_, packed_problem(34, 90, 65),
      {{{.candidate = run.runner.id(variant, search.signature()), .kernel_ns = kOtherNs}}});
  std::ofstream(settled_) << "x";
  ASSERT_TRUE(run.runner.certified(variant, search.signature()));
  search.measure(winner, 2);
  for (std::size_t i = 0; i < search.candidates().size(); ++i)
    if (i != winner) search.measure(i, 2);
  ASSERT_EQ(search.ranked().back(), winner);
  QuietWait none;
  run_finals(search, Objective::kCall, none, [] { return false; });
  EXPECT_TRUE(search.candidates()[winner].finalist);
  EXPECT_DOUBLE_EQ(search.candidates()[winner].total_ns(), kOtherNs);
}

TEST_F(TuneProblemsTest, TheBestKernelIsCertifiedAlsoWhereTheFinalsTookTheirTime) {
  space_.resize(kSmallSpace);
  time_s_ = 0.01;
  certificate_s_ = 0.2;
  SingleRun run(*this, this->worker(kOtherNs));
  StepCosts costs;
  ProblemTuner tuner(run.context, costs, device_, problems_[0]);
  const auto certified = [&] {
    std::vector<Variant> kernels;
    for (const Asked& one : asked())
      if (one.operation == "certify") kernels.push_back(one.variant);
    return kernels;
  };
  tuner.take({.stage = TuneStage::kFirstLook, .seconds = 10});
  const std::vector<Variant> before = certified();
  while (tuner.offer().stage == TuneStage::kSearch)
    tuner.take({.stage = TuneStage::kSearch, .seconds = 10});
  ASSERT_EQ(certified(), before);
  tuner.take({.stage = TuneStage::kFinish, .seconds = 1});
  EXPECT_THAT(certified(), SizeIs(Ge(before.size() + 1)));
}

TEST_F(TuneProblemsTest, TheNaiveKernelIsTimedOnlyWhereTheBestOnesCertificateFits) {
  std::ofstream(settled_).put('\n');
  for (const double certificate_s : {6.0, 0.001}) {
    // Faster ones than that of the first look, which has its certificate.
    SingleRun run(*this, this->worker(certificate_s * 1e5));
    StepCosts costs;
    for (int i = 0; i < 1000; ++i) costs.certified(certificate_s);
    const std::size_t place = certificate_s < 1 ? 1 : 0;  // A problem that was not tuned.
    ProblemTuner tuner(run.context, costs, device_, problems_[place]);
    tuner.take({.stage = TuneStage::kFirstLook, .seconds = 20});
    tuner.take({.stage = TuneStage::kSearch, .seconds = 20});
    tuner.take({.stage = TuneStage::kFinish, .seconds = 5});
    const std::vector<Variant> timed = measured(problems_[place].problem.m);
    EXPECT_EQ(std::ranges::find(timed, fallback_variant()) != timed.end(), certificate_s < 1);
  }
}

TEST_F(TuneProblemsTest, AFasterKernelReplacesTheDefaultWithAStatedConfidence) {
  space_.resize(kSmallSpace);
  const std::vector<TuneResult> results = tune(kPlenty);
  ASSERT_THAT(results, SizeIs(problems_.size()));
  for (const TuneResult& result : results) {
    EXPECT_EQ(result.verdict, OutcomeVerdict::kFaster);
    EXPECT_EQ(result.confidence, 0.97);
    EXPECT_EQ(result.default_ns, kDefaultNs);
    EXPECT_EQ(result.default_kernel, short_name(default_kernel(result.problem)));
    EXPECT_EQ(result.kernel_ns, kOtherNs);
    EXPECT_GE(result.tried, 3u);
  }
}

// All others looked faster in the search and are not, beside the default.
TEST_F(TuneProblemsTest, TheDefaultStaysWhereNoKernelIsFasterBesideIt) {
  space_.resize(kSmallSpace);
  std::ofstream(settled_) << "x";
  tune(kPlenty, kNotStopped, 1.2 * kDefaultNs);
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    ASSERT_TRUE(outcome(i));
    EXPECT_EQ(outcome(i)->verdict, OutcomeVerdict::kDefault) << i;
    EXPECT_EQ(outcome(i)->confidence, std::nullopt);
    EXPECT_EQ(store_.candidate(outcome(i)->candidate)->variant,
              default_kernel(problems_[i].problem));
  }
}

TEST_F(TuneProblemsTest, WhatARunLeavesOpenIsStoredAndTheNextRunBeginsWithIt) {
  space_.resize(kSmallSpace);
  tune(kPlenty);
  // The comparison of the third problem was never finished.
  OutcomeRecord open = outcome(2).value();
  open.verdict = OutcomeVerdict::kOpen;
  open.confidence = 0.5;
  store_.put_outcome(device_, open);
  std::filesystem::remove(requests_);
  tune(kPlenty, 40);
  const std::vector<Asked> requests = asked();
  const auto timed = std::ranges::find_if(requests, [](const Asked& one) { return one.m != 0; });
  ASSERT_NE(timed, requests.end());
  EXPECT_EQ(timed->m, problems_[2].problem.m);
  EXPECT_EQ(outcome(2)->verdict, OutcomeVerdict::kFaster);
}

TEST_F(TuneProblemsTest, AShortRunLeavesItsWinnersOpen) {
  const std::vector<TuneResult> results = tune(14);
  std::size_t winners = 0;
  for (const TuneResult& result : results) winners += result.winner.empty() ? 0 : 1;
  EXPECT_GE(winners, 1u);
  EXPECT_THAT(results, Contains(testing::Field(&TuneResult::verdict, OutcomeVerdict::kOpen)));
  for (const TuneResult& result : results) {
    if (result.verdict != OutcomeVerdict::kOpen) continue;
    EXPECT_EQ(result.default_ns, 0) << "its time was not taken beside the default's";
  }
}

// The space is so small that the first run tries all of it.
TEST_F(TuneProblemsTest, WhatIsCertainIsNotComparedAgain) {
  space_.resize(kSmallSpace);
  tune(kPlenty);
  std::filesystem::remove(requests_);
  const std::vector<TuneResult> results = tune(kPlenty);
  ASSERT_THAT(results, SizeIs(problems_.size()));
  for (const TuneResult& result : results) {
    EXPECT_EQ(result.verdict, OutcomeVerdict::kFaster);
    EXPECT_EQ(result.kernel_ns, kOtherNs);
    EXPECT_EQ(result.default_ns, kDefaultNs);
  }
  std::map<std::int64_t, int> times;
  for (const Asked& one : asked()) {
    EXPECT_NE(one.operation, "certify");
    if (one.m != 0) ++times[one.m];
  }
  for (const auto& [m, count] : times) EXPECT_LE(count, kMostHostRounds) << m;
}
}  // namespace
}  // namespace rooftile
