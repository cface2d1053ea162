// The comparison of portfolios after the search. The fake worker is a shell script, whose fallback
// kernel is the fastest everywhere, or the second after a kernel for aligned operands.
#include "tuner/portfolio_tuner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>

#include "generator/emit.h"
#include "generator/space.h"
#include "generator/version.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"
#include "tests/tuner/scripted_worker.h"

namespace rooftile {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PortfolioTunerTest : public ::testing::Test {
 protected:
  PortfolioTunerTest() {
    profile_.device_uuid = "00";
    profile_.name = "fake";
    set_small_workgroups(profile_.limits);
    device_ = store_.device_id(profile_);
    run_ = store_.begin_run(device_, kGeneratorVersion, "{}");
    add_winner(problem_);
  }

  void add_winner(const Problem& p) { add_winner(p, other_); }
  RowId add_winner(const Problem& p, const Variant& variant) {
    const RowId winner = candidate_row(store_, variant, signature_of(p));
    const std::vector<WinnerRecord> list = {
        {.candidate = winner, .problem = store_.problem_id(p), .kernel_ns = 1000}};
    store_.put_winners(device_, to_string(bucket_of(p)), list);
    return winner;
  }

  std::filesystem::path worker() {
    const auto text = [](double ns) {
      return to_json(TimeReply{.hash = "x", .kernel_ns = {1.5 * ns, ns}, .estimate_ns = ns}).dump();
    };
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript(file) << "while read -r request; do\n  echo \"$request\" >>'" << requests_.string()
                       << "'\n  case \"$request\" in\n"
                       << "    *certify*) [ -e '" << refuse_.string() << "' ] && echo '"
                       << to_json(Certificate{.detail = "wrong", .cases = 1}).dump()
                       << "' || echo '" << to_json(Certificate{.passed = true}).dump()
                       << "' ;;\n    *tile_m=64\\ tile_n=16*) echo '" << text(400)
                       << "' ;;\n    *family=naive*) echo '" << text(500) << "' ;;\n"
                       << "    *) echo '" << text(1000) << "' ;;\n  esac\ndone\n";
    return file;
  }
  /// Number of requests to the worker for this problem.
  std::size_t requests_of(const Problem& p) const {
    return lines_with(requests_, fmt::format("\"m\":{},\"n\":{},", p.m, p.n));
  }
  Regret compare(double seconds) { return compare(seconds, {problem_}); }
  Regret compare(
      double seconds, const std::vector<Problem>& tuned,
      const SearchedEnough& searched_enough = [](const Problem&) { return true; }) {
    CandidateRunner runner(store_, worker_, budget_, stop_, {.device = device_, .run = run_});
    const ProblemTunerContext context = {.store = store_,
                                         .runner = runner,
                                         .device = profile_,
                                         .rates = rates_,
                                         .space = space_,
                                         .options = options_,
                                         .over = [&] { return stop_.load(); },
                                         .elapsed_s = [] { return 0.0; },
                                         .progress = [](const TuneProgress&) {}};
    return tune_portfolios(context, device_, tuned, seconds, searched_enough);
  }

  std::vector<std::vector<std::string>> regrets() const {
    return store_.query("SELECT problems, median, median_low, median_high FROM selector_regrets")
        .rows;
  }

  static constexpr double kSeconds = 1.5;
  ScratchFolder folder_;
  std::filesystem::path requests_ = folder_ / "requests", refuse_ = folder_ / "refuse";
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId device_ = 0, run_ = 0;
  WorkerProcess worker_{worker(), {{"operation", "open"}}};
  Budget budget_{600};
  std::atomic<bool> stop_ = false;
  const Problem problem_ = packed_problem(33, 17, 65);
  const Variant other_ = parse_variant("family=register tile_m=16 tile_n=32 reg_m=2 reg_n=4");
  const DeviceRates rates_ = {.fma_gflops = 100};
  const std::vector<Variant> space_;
  const TuneOptions options_ = {.problems = {{problem_, ""}}};
};

TEST_F(PortfolioTunerTest, TheFastestKernelIsTheCertifiedPortfolio) {
  const Regret regret = compare(kSeconds);
  const auto kernels = store_.portfolio(device_, kGeneratorVersion);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].candidate.variant, fallback_variant());
  ASSERT_GT(kernels[0].times.size(), 3u);
  EXPECT_EQ(kernels[0].times[0], (MeasuredTime{.m = 33,
                                               .n = 17,
                                               .k = 65,
                                               .batch = 1,
                                               .ns = 500,
                                               .half_ns = std::array<double, 2>{500, 500}}));
  EXPECT_EQ(regret.problems, kernels[0].times.size());
  EXPECT_EQ(regret.mean, 0);
  ASSERT_THAT(regrets(), SizeIs(1));
  EXPECT_EQ(regrets()[0][0], std::to_string(regret.problems));
}

TEST_F(PortfolioTunerTest, ContainsAKernelForUnalignedOperands) {
  const Variant aligned = parse_variant(
      "family=register tile_m=64 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 "
      "vector_width_a=4 vector_width_b=4");
  store_.put_certificate(device_, add_winner(problem_, aligned), kGeneratorVersion, true, "");
  compare(kSeconds);
  const auto kernels = store_.portfolio(device_, kGeneratorVersion);
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(kernels[0].candidate.variant, aligned);
  EXPECT_EQ(kernels[1].candidate.variant, fallback_variant());
}

TEST_F(PortfolioTunerTest, StoredTimesAreNotMeasuredAgain) {
  compare(kSeconds);
  const auto before = store_.measured_portfolio(device_, "f32.nn");
  const std::size_t asked = requests_of(problem_);
  EXPECT_GT(asked, 0u);
  compare(kSeconds);
  const auto after = store_.measured_portfolio(device_, "f32.nn");
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    ASSERT_GE(after[i].times.size(), before[i].times.size());
    EXPECT_TRUE(std::ranges::equal(before[i].times,
                                   std::span(after[i].times).first(before[i].times.size())));
  }
  EXPECT_EQ(requests_of(problem_), asked);
}

TEST_F(PortfolioTunerTest, AKernelWithoutACertificateIsExcluded) {
  std::ofstream(refuse_) << "x";
  compare(kSeconds);
  EXPECT_THAT(store_.portfolio(device_, kGeneratorVersion), IsEmpty());
  for (const PortfolioKernel& kernel : store_.measured_portfolio(device_, "f32.nn"))
    EXPECT_EQ(kernel.place, std::nullopt);
}

// A class with many problems comes first, so that it has enough time where compiling its kernels
// takes longer than its share; at the end no time would remain.
TEST_F(PortfolioTunerTest, ClassesOfFewProblemsComeFirst) {
  const Problem lonely = packed_problem(21, 22, 23, Transpose::kYes, Transpose::kNo);
  add_winner(lonely);
  compare(2 * kSeconds, {problem_, packed_problem(40, 50, 60), lonely});
  ASSERT_GT(requests_of(lonely), 0u);
  EXPECT_THAT(lines_of_file(requests_).at(0), HasSubstr("\"m\":21,\"n\":22,"));
  EXPECT_THAT(regrets(), SizeIs(2));
}

// The worker's times have no noise, so the regret is 0. The number of compared problems depends on
// the machine: the median is stored if there are enough, and left out otherwise.
TEST_F(PortfolioTunerTest, MediansAreStoredForEnoughProblems) {
  const Regret regret = compare(kSeconds);
  const std::string median = regret.has_median() ? "0.0" : "";
  EXPECT_THAT(regrets(), ElementsAre(ElementsAre(_, median, median, median)));
}

// What was found after few candidates may be far from the fastest kernel.
TEST_F(PortfolioTunerTest, NoRegretIsEstimatedOfAClassThatWasHardlySearched) {
  const Problem other = packed_problem(40, 50, 60), lonely = packed_problem(5, 6, 7);
  add_winner(other);
  add_winner(lonely);
  const auto only = [](const Problem& searched) {
    return [searched](const Problem& p) { return p == searched; };
  };
  EXPECT_EQ(compare(kSeconds, {problem_, other}, only(problem_)).problems, 0u);
  EXPECT_THAT(regrets(), IsEmpty());
  EXPECT_FALSE(store_.portfolio(device_, kGeneratorVersion).empty()) << "the portfolio is stored";
  const auto most = [&](const Problem& p) { return p != lonely; };
  EXPECT_GT(compare(kSeconds, {problem_, other, lonely}, most).problems, 0u);
  EXPECT_THAT(regrets(), SizeIs(1));
}

TEST_F(PortfolioTunerTest, StoppingKeepsWhatWasStored) {
  compare(kSeconds);
  stop_ = true;
  compare(kSeconds);
  EXPECT_THAT(store_.portfolio(device_, kGeneratorVersion), SizeIs(1));
}

}  // namespace
}  // namespace rooftile
