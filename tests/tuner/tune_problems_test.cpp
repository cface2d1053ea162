// How problems are tuned in turns, and in which order.
#include "tests/tuner/tune_problems_fixture.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr std::size_t kFirstLook = 2;  // Kernels.

TEST_F(TuneProblemsTest, TheDefaultIsInTheFirstLookAndTheModelsChoiceInTheFirstBatch) {
  tune(kPlenty);
  for (const TuneProblem& wanted : problems_) {
    const std::vector<Variant> order = measured(wanted.problem.m);
    ASSERT_THAT(order, SizeIs(Ge(kFirstLook + kSearchBatch)));
    EXPECT_THAT(std::span(order).first(kFirstLook), Contains(default_kernel(wanted.problem)));
    EXPECT_THAT(std::span(order).first(kFirstLook + kSearchBatch),
                Contains(model_choice(wanted.problem)));
  }
}

TEST_F(TuneProblemsTest, EveryProblemHasAWinnerBeforeAnyIsSearched) {
  tune(kPlenty);
  std::map<std::int64_t, std::set<std::string>> candidates;
  std::size_t most_before_last = 0;
  for (const Asked& one : asked()) {
    if (one.m == 0) continue;
    candidates[one.m].insert(to_string(one.variant));
    if (candidates.size() == problems_.size()) break;
    for (const auto& [m, of_problem] : candidates)
      most_before_last = std::max(most_before_last, of_problem.size());
  }
  EXPECT_EQ(candidates.size(), problems_.size());
  EXPECT_THAT(most_before_last, AllOf(Ge(1u), Le(2u)));
}

TEST_F(TuneProblemsTest, EachPlausibleFamilyIsSearchedOnceBeforeAnotherIsTwice) {
  tune(kPlenty);
  for (const TuneProblem& wanted : problems_) {
    const std::vector<Variant> legal = legal_here(wanted.problem);
    std::vector<double> ns;
    for (const Variant& v : legal) ns.push_back(analytical_ns(wanted.problem, v, rates_));
    const std::vector<std::size_t> firsts =
        family_firsts(legal, ns, std::vector<bool>(legal.size(), false));
    std::set<Family> plausible;
    for (const std::size_t i : firsts) plausible.insert(legal[i].family);
    ASSERT_THAT(plausible, SizeIs(Ge(2u))) << to_string(wanted.problem);
    // Both of the first look may be of one family, and a batch has the kernels first that compile
    // soonest.
    const std::vector<Variant> order = measured(wanted.problem.m);
    std::set<Family> seen;
    for (std::size_t i = 0; i < order.size() && !std::ranges::includes(seen, plausible); ++i) {
      const bool again = seen.contains(order[i].family);
      EXPECT_TRUE(!again || i < kFirstLook + kSearchBatch)
          << to_string(wanted.problem) << ", candidate " << i;
      seen.insert(order[i].family);
    }
    EXPECT_TRUE(std::ranges::includes(seen, plausible));
  }
}

TEST_F(TuneProblemsTest, AStopAtAnyMomentLeavesCertifiedWinnersOfAllProblemsThatWereBegun) {
  for (std::size_t stop_after = 1; stop_after < 40; stop_after += 3) {
    SCOPED_TRACE(stop_after);
    std::filesystem::remove(requests_);
    store_ = Store(folder_ / fmt::format("stop{}.db", stop_after));
    device_ = store_.device_id(profile_);
    const std::vector<TuneResult> results = tune(kPlenty, stop_after);
    std::set<std::int64_t> begun;
    for (const Asked& one : asked())
      if (one.m != 0) begun.insert(one.m);
    EXPECT_EQ(results.size(), begun.size()) << "each problem that was begun has a result";
    // Only the one whose first look was under way has none yet.
    EXPECT_GE(stored().size() + 1, begun.size());
    for (const TuneResult& result : results)
      EXPECT_EQ(!result.winner.empty(), stored().contains(result.problem.m));
  }
}

// Programs that find no winner take the default, so that one that is slower makes them slower.
TEST_F(TuneProblemsTest, AKernelSlowerThanAnUncertifiedDefaultIsNotStored) {
  std::ofstream(settled_) << "x";
  SingleRun run(*this, this->worker(1.2 * kDefaultNs));
  const TuneProblem& wanted = problems_[0];
  const Search search(run.context, device_, wanted.problem);
  const Variant known = search.candidates()[search.best_known().value()].variant;
  ASSERT_TRUE(run.runner.certified(known, search.signature()));
  StepCosts costs;
  costs.certified(1000);  // Seconds, which the default would take.
  ProblemTuner tuner(run.context, costs, device_, wanted);
  tuner.take({.stage = TuneStage::kFirstLook, .seconds = 10});
  ASSERT_THAT(measured(wanted.problem.m), Contains(known));
  ASSERT_TRUE(outcome(0));
  EXPECT_EQ(store_.candidate(outcome(0)->candidate)->variant, default_kernel(wanted.problem));
}

// Runs differ in their levels; only times free of them can be compared.
TEST_F(TuneProblemsTest, ASampleOfAnEarlierRunCountsWithoutThatRunsLevel) {
  constexpr double kLevel = 1.25;
  SingleRun run(*this, this->worker(kOtherNs));
  const Problem& problem = problems_[0].problem;
  store_.add_sample({.run = store_.begin_run(device_, kGeneratorVersion, "{}"),
                     .candidate = run.runner.id(fallback_variant(), signature_of(problem)),
                     .problem = store_.problem_id(problem),
                     .kernel = {.median_ns = kLevel * kOtherNs, .count = 2},
                     .pack_ns = kLevel * 1e3,
                     .level = kLevel});
  const Search search(run.context, device_, problem);
  const Candidate* const recalled = search.find(fallback_variant());
  ASSERT_NE(recalled, nullptr);
  EXPECT_THAT(recalled->samples_ns, ElementsAre(DoubleEq(kOtherNs)));
  EXPECT_DOUBLE_EQ(recalled->pack_ns, 1e3);
}

// As where caches serve more than the memory whose rate was measured.
TEST_F(TuneProblemsTest, ASearchGoesOnWhereKernelsAreFasterThanTheBound) {
  space_.resize(kSmallSpace);
  rates_.fma_gflops = 0.01;
  for (const TuneProblem& wanted : problems_)
    ASSERT_GT(problem_bound_ns(wanted.problem, rates_), 2 * kDefaultNs);
  for (const TuneResult& result : tune(kPlenty)) {
    EXPECT_EQ(result.tried, legal_here(result.problem).size()) << to_string(result.problem);
  }
}

TEST_F(TuneProblemsTest, AWinnerThatWasRunningWhenTheTunerDiedStaysOne) {
  constexpr std::int64_t kNoProcess = 1 << 29;
  space_.resize(kSmallSpace);
  tune(kPlenty);
  OutcomeRecord open = outcome(2).value();
  open.verdict = OutcomeVerdict::kOpen;
  open.default_ns.reset();
  store_.put_outcome(device_, open);
  const auto winners = [&] {
    std::map<std::int64_t, RowId> found;
    for (const RankedKernel& kernel : store_.winners(device_))  // Each problem's best first.
      found.emplace(kernel.kernel.problem.m, kernel.kernel.candidate.id);
    return found;
  };
  const std::map<std::int64_t, RowId> before = winners();
  ASSERT_THAT(before, SizeIs(problems_.size()));
  for (const std::size_t stop_after : {1u, 3u, 6u, 12u}) {
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      store_.journal_begin(device_, before.at(problems_[i].problem.m), kNoProcess);
      store_.journal_begin(device_, outcome(i)->default_candidate.value(), kNoProcess);
    }
    tune(kPlenty, stop_after);
    EXPECT_EQ(winners(), before) << stop_after;
    for (std::size_t i = 0; i < problems_.size(); ++i)
      EXPECT_EQ(outcome(i)->verdict, i == 2 ? OutcomeVerdict::kOpen : OutcomeVerdict::kFaster)
          << stop_after << ", problem " << i;
  }
}

// The first kernel is still being compiled when the budget ends.
TEST_F(TuneProblemsTest, ACompilerThatTakesAMinuteDoesNotHoldTheRun) {
  const std::filesystem::path file = folder_ / "compiles";
  WorkerScript(file) << "read request\nexec sleep 1000\n";
  constexpr double kBudgetS = 0.1;
  WorkerProcess worker(file, {{"operation", "open"}});
  const Budget budget(kBudgetS);
  CandidateRunner runner(store_, worker, budget, stop_, new_run());
  const TuneOptions options = {.problems = problems_, .budget_s = kBudgetS};
  std::vector<TuneResult> results;
  tune_problems(context(runner, options, [&] { return budget.left_s() <= 0; }), device_, problems_,
                {.left_s = [&] { return budget.left_s(); },
                 .finished = [&](const TuneResult& result) { results.push_back(result); }});
  ASSERT_THAT(results, SizeIs(1)) << "the other problems were not begun";
  EXPECT_EQ(results[0].problem, problems_[0].problem);
  EXPECT_EQ(results[0].winner, "");
  EXPECT_THAT(store_.black_listed(device_), IsEmpty()) << "it was interrupted, and did not hang";
}

// The measuring worker answers when three kernels were compiled: two at most are of its own
// problem.
TEST_F(TuneProblemsTest, BesideAGpuKernelsOfOtherProblemsAreCompiledDuringAMeasurement) {
  problems_.clear();
  for (const Transpose a : {Transpose::kNo, Transpose::kYes})
    for (const Transpose b : {Transpose::kNo, Transpose::kYes})
      problems_.push_back({.problem = packed_problem(33, 90, 65, a, b)});
  const auto file = [&](const std::string& name) { return (folder_ / name).string(); };
  WorkerScript(folder_ / "compiler")
      << fmt::format("while read -r request; do echo \"$request\" >>'{}'; echo '{}'; done\n",
                     file("compiled"), R"({"compile_ns":1e6})");
  WorkerScript(folder_ / "worker") << fmt::format(
      "n=0\ntouch '{0}'\nread -r request\n"
      "until [ $(wc -l <'{0}') -ge 3 ] || [ $n -ge 300 ]; do sleep 0.1; n=$((n + 1)); done\n"
      "[ $n -ge 300 ] && touch '{1}'\ntouch '{2}'; echo '{3}'\nread -r request\n",
      file("compiled"), file("late"), file("answered"),
      to_json(TimeReply{.hash = "x", .kernel_ns = {kDefaultNs}, .estimate_ns = kDefaultNs}).dump());
  GpuRun run(*this, folder_ / "compiler", 1, folder_ / "worker");
  const auto answered = [&] { return std::filesystem::exists(folder_ / "answered"); };
  tune_problems(context(run.runner, run.options, answered), device_, problems_,
                {.left_s = [] { return 60.0; }, .finished = [](const TuneResult&) {}});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "late"));
}

TEST_F(TuneProblemsTest, BesideAGpuNoProblemWaitsForAnothersCompiler) {
  problems_.clear();
  for (const Transpose a : {Transpose::kNo, Transpose::kYes})
    problems_.push_back({.problem = packed_problem(33, 90, 65, a, Transpose::kYes)});
  const std::string first = to_json(signature_of(problems_[0].problem)).dump();
  WorkerScript(folder_ / "compiler") << fmt::format(
      "while read -r request; do case \"$request\" in *'{}'*) exec sleep 1000 ;; esac; echo '{}'; "
      "done\n",
      first, R"({"compile_ns":1e6})");
  GpuRun run(*this, folder_ / "compiler", 12, this->worker(kOtherNs));
  const auto over = [&] {
    stop_ = stop_ || requests() >= 10;
    return stop_.load();
  };
  tune_problems(context(run.runner, run.options, over), device_, problems_,
                {.left_s = [] { return 600.0; }, .finished = [](const TuneResult&) {}});
  EXPECT_GE(lines_with(requests_, R"("trans_a":true)"), 9u);
  EXPECT_TRUE(store_.black_listed(device_).empty()) << "no compiler was waited for to its end";
}

// No batch fits any more, while the next one is still being compiled.
TEST_F(TuneProblemsTest, BesideAGpuFinalsWaitForNoCompilerOfABatch) {
  problems_.resize(1);
  // The kernels of the first look and the naive one are compiled, those of batches never.
  WorkerScript(folder_ / "compiler") << fmt::format(
      "while read -r request; do\n  case \"$request\" in *family=naive*) ;; *)\n"
      "    echo >>'{0}'; [ $(wc -l <'{0}') -le 2 ] || exec sleep 1000 ;;\n  esac\n  echo "
      "'{1}'\ndone\n",
      (folder_ / "compiled").string(), R"({"compile_ns":1e6})");
  GpuRun run(*this, folder_ / "compiler", 8, this->worker(kOtherNs));
  // Time for the finals only, once a batch has been begun, and none if they are not next.
  int looks = 0;
  const auto left_s = [&] {
    if (line_count(folder_ / "compiled") <= 2) return 600.0;
    return ++looks < 100 ? 0.5 : 0.0;
  };
  std::vector<TuneResult> results;
  tune_problems(context(run.runner, run.options, [] { return false; }), device_, problems_,
                {.left_s = left_s, .finished = [&](const TuneResult& result) {
                   results.push_back(result);
                   stop_ = true;
                 }});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_GT(results[0].naive_ns, 0) << "a part of the finals";
}

TEST_F(TuneProblemsTest, AProblemWithoutALegalKernelIsPassedOver) {
  profile_.limits.float64_arithmetic = false;
  problems_.insert(problems_.begin(),
                   {.problem = packed_problem(5, 90, 65, Transpose::kNo, Transpose::kNo, 1,
                                              parse_types("f64"))});
  const std::vector<TuneResult> results = tune(kPlenty);
  ASSERT_EQ(results.size(), problems_.size());
  for (const TuneResult& result : results)
    EXPECT_EQ(result.winner.empty(), result.problem.m == 5) << result.problem.m;
  EXPECT_THAT(stored(), ElementsAre(7, 33, 70, 160));
}

TEST_F(TuneProblemsTest, WeightsMoveTheTime) {
  problems_[3].weight = 1000;
  tune(150);
  const std::size_t heavy = measured(problems_[3].problem.m).size();
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_GT(heavy, measured(problems_[i].problem.m).size()) << i;
}

}  // namespace
}  // namespace rooftile
