// Several problems tuned in turns, with a shell script as the fake worker: each kernel has a time,
// each certificate passes, and the requests are kept. The scheduler's clock counts requests.
#include "tuner/tune_problems.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "generator/rules.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "tests/support/scratch.h"
#include "tests/support/untuned_default.h"
#include "tests/tuner/scripted_worker.h"
#include "tuner/problem_tuner.h"
#include "tuner/search/strategy.h"
#include "tuner/search_finals.h"
#include "tuner/stored/ranked_list.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr std::size_t kNotStopped = 1'000'000;
constexpr std::size_t kSmallSpace = 6;  // Tried to its end, so that the finals have all the time.
constexpr std::size_t kPlenty = 500;    // Requests for the finals of all problems and some batches.
constexpr double kDefaultNs = 1e6, kOtherNs = 0.9e6;  // Far from the bounds of the problems.

struct Asked {
  std::string operation;  // "time", "certify" or "count"
  Variant variant;
  std::int64_t m = 0;  // of the problem; 0: not "time"
};

class TuneProblemsTest : public ::testing::Test {
 protected:
  TuneProblemsTest() {
    profile_.device_uuid = "00";
    set_small_workgroups(profile_.limits);
    profile_.limits.shared_memory_bytes = 32768;
    device_ = store_.device_id(profile_);
    std::map<Family, int> of_family;
    for (const Variant& variant : legal_variants(profile_.limits))
      if (++of_family[variant.family] % 40 == 1 && variant.reduction != Reduction::kAtomic)
        space_.push_back(variant);
    for (const std::int64_t m : {33, 160, 70, 7})
      problems_.push_back({.problem = packed_problem(m, 90, 65)});
  }

  /// The kernel that the model takes for a problem.
  Variant model_choice(const Problem& p) const {
    std::vector<Variant> legal = legal_here(p);
    return *std::ranges::min_element(legal, {},
                                     [&](const Variant& v) { return analytical_ns(p, v, rates_); });
  }
  std::vector<Variant> legal_here(const Problem& p) const {
    const Problem staged = staged_problem(p);
    std::vector<Variant> legal;
    const auto add = [&](const Variant& v) {
      if (!illegal_reason(v, profile_.limits, staged, own_buffers(staged)) &&
          std::ranges::find(legal, v) == legal.end())
        legal.push_back(v);
    };
    for (const Variant& v : space_) add(v);
    add(default_variant(profile_));
    add(fallback_variant());
    return legal;
  }

  /// Default kernels of the problems take kDefaultNs. The others take kOtherNs before the first
  /// certificate of their problem's class, and other_later_ns in so many measurements afterwards.
  std::filesystem::path worker(double other_later_ns, std::size_t later = kNotStopped) {
    const auto text = [](double ns) {
      return to_json(TimeReply{
                         .hash = "x", .kernel_ns = {ns, ns}, .compile_ns = 1e6, .estimate_ns = ns})
          .dump();
    };
    const auto nap = [](double s) { return s > 0 ? fmt::format("sleep {}", s) : ":"; };
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript script(file);
    script << fmt::format(
        R"(first='{}' left=0
other=$first
while read -r request; do
  echo "$request" >>'{}'
  {}
  case "$request" in
    *certify*) {}; [ -e '{}' ] && other='{}' left={}; echo '{}' ;;
)",
        text(kOtherNs), requests_.string(), nap(time_s_), nap(certificate_s_), settled_.string(),
        text(other_later_ns), later, to_json(Certificate{.passed = true, .cases = 1}).dump());
    for (const TuneProblem& wanted : problems_)
      script << "    *'\"m\":" << wanted.problem.m << ",'*'"
             << to_string(model_choice(wanted.problem)) << "'*) echo '" << text(kDefaultNs)
             << "' ;;\n";
    script << "    *) echo \"$other\"; left=$((left - 1)); [ $left = 0 ] && other=$first ;;\n"
           << "  esac\ndone\n";
    return file;
  }

  std::vector<Asked> asked() const {
    std::vector<Asked> list;
    std::ifstream file(requests_);
    static const std::regex kM("\"m\":([0-9]+),");
    for (std::string line; std::getline(file, line);) {
      const Json request = Json::parse(line);
      Asked& one = list.emplace_back(Asked{.operation = request.at("operation"), .variant = {}});
      const Json& body = request.contains("request") ? request.at("request") : request;
      one.variant = parse_variant(body.at("variant").get<std::string>());
      std::smatch found;
      if (one.operation == "time" && std::regex_search(line, found, kM))
        one.m = std::stoll(found[1]);
    }
    return list;
  }
  std::size_t requests() const {
    std::ifstream file(requests_);
    return static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
  }
  /// The candidates of a problem in the order of their first measurement.
  std::vector<Variant> measured(std::int64_t m) const {
    std::vector<Variant> order;
    for (const Asked& one : asked())
      if (one.m == m && std::ranges::find(order, one.variant) == order.end())
        order.push_back(one.variant);
    return order;
  }

  RunnerOptions new_run() {
    return {.device = device_, .run = store_.begin_run(device_, kGeneratorVersion, "{}")};
  }
  ProblemTunerContext context(CandidateRunner& runner, const TuneOptions& options,
                              std::function<bool()> over) {
    return {.store = store_,
            .runner = runner,
            .device = profile_,
            .rates = rates_,
            .space = space_,
            .options = options,
            .over = std::move(over),
            .elapsed_s = [] { return 0.0; },
            .progress = [](TuneProgress&) {}};
  }

  /// A run whose steps the test takes itself.
  struct SingleRun {
    SingleRun(TuneProblemsTest& test, const std::filesystem::path& program)
        : worker(program, {{"operation", "open"}}),
          runner(test.store_, worker, budget, test.stop_, test.new_run()),
          context(test.context(runner, options, [] { return false; })) {}
    WorkerProcess worker;
    const Budget budget{600};
    CandidateRunner runner;
    const TuneOptions options = {};
    const ProblemTunerContext context;
  };

  /// Tunes with time for so many requests, and stops after some.
  std::vector<TuneResult> tune(std::size_t time, std::size_t stop_after = kNotStopped,
                               double other_later_ns = kOtherNs) {
    stop_ = false;
    WorkerProcess worker(this->worker(other_later_ns), {{"operation", "open"}});
    const Budget budget(600);
    CandidateRunner runner(store_, worker, budget, stop_, new_run());
    const std::size_t before = requests();
    const auto used = [&] { return requests() - before; };
    const auto over = [&] {
      if (used() >= stop_after) stop_ = true;
      return stop_.load();
    };
    const TuneOptions options = {.problems = problems_};
    std::vector<TuneResult> results;
    tune_problems(
        context(runner, options, over), device_, problems_,
        {.left_s =
             [&] { return kRequestS * (static_cast<double>(time) - static_cast<double>(used())); },
         .finished = [&](const TuneResult& result) { results.push_back(result); }});
    return results;
  }
  /// Sizes m of the problems with a kernel that a program may run.
  std::set<std::int64_t> stored() const {
    std::set<std::int64_t> found;
    for (const TunedKernel& kernel : store_.tuned_kernels(device_, kGeneratorVersion))
      found.insert(kernel.problem.m);
    return found;
  }
  std::optional<OutcomeRecord> outcome(std::size_t problem) {
    return store_.outcome(device_, store_.problem_id(problems_[problem].problem));
  }

  double time_s_ = 0, certificate_s_ = 0;    // Real time that the worker takes for a request.
  static constexpr double kRequestS = 0.05;  // Of the scheduler's clock, for each request.
  ScratchFolder folder_;
  std::filesystem::path requests_ = folder_ / "requests", settled_ = folder_ / "settled";
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId device_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<Variant> space_;
  std::vector<TuneProblem> problems_;
  DeviceRates rates_ = [] {
    DeviceRates rates;
    rates.submit_ns = 1e4;
    rates.fma_gflops = 50;
    rates.levels = {{.name = "memory", .gbps = 1000}};  // So that several families are plausible.
    return rates;
  }();
};

TEST_F(TuneProblemsTest, TheModelsFirstChoiceIsAmongTheFirstTwo) {
  tune(kPlenty);
  for (const TuneProblem& wanted : problems_) {
    ASSERT_THAT(measured(wanted.problem.m), SizeIs(Ge(2)));
    const std::vector<Variant> order = measured(wanted.problem.m);
    EXPECT_THAT(std::vector<Variant>(order.begin(), order.begin() + 2),
                Contains(model_choice(wanted.problem)));
  }
}

TEST_F(TuneProblemsTest, TheKernelOfAnUntunedMachineIsAFinalist) {
  SingleRun run(*this, this->worker(kOtherNs));
  StepCosts costs;
  std::size_t others = 0;  // Problems whose first look is at other kernels.
  for (const TuneProblem& wanted : problems_) {
    const Variant untuned = untuned_kernel(profile_, staged_problem(wanted.problem));
    ProblemTuner tuner(run.context, costs, device_, wanted);
    tuner.take({.stage = TuneStage::kFirstLook, .seconds = 10});
    const std::vector<Variant> first = measured(wanted.problem.m);
    if (std::ranges::find(first, untuned) == first.end()) ++others;
    tuner.take({.stage = TuneStage::kFinish, .seconds = 10});
    EXPECT_THAT(measured(wanted.problem.m), Contains(untuned));
  }
  EXPECT_GE(others, 1u);
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
    // Both candidates of the first look may be of one family.
    const std::vector<Variant> order = measured(wanted.problem.m);
    std::set<Family> seen;
    for (std::size_t i = 0; i < order.size() && !std::ranges::includes(seen, plausible); ++i) {
      const bool again = seen.contains(order[i].family);
      EXPECT_TRUE(!again || i < 2) << to_string(wanted.problem) << ", candidate " << i;
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

TEST_F(TuneProblemsTest, AFasterKernelReplacesTheDefaultWithAStatedConfidence) {
  space_.resize(kSmallSpace);
  const std::vector<TuneResult> results = tune(kPlenty);
  ASSERT_THAT(results, SizeIs(problems_.size()));
  for (const TuneResult& result : results) {
    EXPECT_EQ(result.verdict, OutcomeVerdict::kFaster);
    EXPECT_EQ(result.confidence, 0.97);
    EXPECT_EQ(result.default_ns, kDefaultNs);
    EXPECT_EQ(result.default_kernel, short_name(model_choice(result.problem)));
    EXPECT_EQ(result.kernel_ns, kOtherNs);
    EXPECT_GE(result.tried, 3u);
  }
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

// All others looked faster in the search and are not, beside the default.
TEST_F(TuneProblemsTest, TheDefaultStaysWhereNoKernelIsFasterBesideIt) {
  space_.resize(kSmallSpace);
  std::ofstream(settled_) << "x";
  tune(kPlenty, kNotStopped, 1.2 * kDefaultNs);
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    ASSERT_TRUE(outcome(i));
    EXPECT_EQ(outcome(i)->verdict, OutcomeVerdict::kDefault) << i;
    EXPECT_EQ(outcome(i)->confidence, std::nullopt);
    EXPECT_EQ(store_.candidate(outcome(i)->candidate)->variant, model_choice(problems_[i].problem));
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

TEST_F(TuneProblemsTest, WeightsMoveTheTime) {
  problems_[3].weight = 1000;
  tune(150);
  const std::size_t heavy = measured(problems_[3].problem.m).size();
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_GT(heavy, measured(problems_[i].problem.m).size()) << i;
}

}  // namespace
}  // namespace rooftile
