// Candidates whose registers spill are compiled but not measured, and the problem gets a winner
// nevertheless. A shell script is the fake worker.
#include "tuner/worker/spilled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "generator/space.h"
#include "tests/support/scratch.h"
#include "tests/tuner/scripted_worker.h"
#include "tests/tuner/tune_alone.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

TEST(SpilledPolicyTest, OnlyCandidatesWithoutAReasonToKeepAreDropped) {
  EXPECT_EQ(spilled_policy({}), Spilled::kDrop);
  EXPECT_EQ(spilled_policy({.trusted = true}), Spilled::kMeasure);
  EXPECT_EQ(spilled_policy({.measured = true}), Spilled::kMeasure);
  EXPECT_EQ(spilled_policy({.first_here = true}), Spilled::kMeasure);
}

std::vector<CompilerStatistic> statistics(std::uint64_t spilled_registers) {
  return {{"compute", "VGPRs", "d", std::uint64_t{256}},
          {"compute", "Spilled VGPRs", "d", spilled_registers}};
}

TEST(SpilledProtocolTest, RequestsAndRepliesRoundTrip) {
  const Problem problem = packed_problem(33, 17, 65);
  for (const Spilled spilled : {Spilled::kDrop, Spilled::kMeasure}) {
    const TimeRequest request = {
        .variant = fallback_variant(), .problem = problem, .spilled = spilled};
    EXPECT_EQ(time_request_from_json(to_json(request)).spilled, spilled);
  }
  const TimeReply dropped = {
      .hash = "x", .statistics = statistics(7), .dropped_reason = "7 registers spilled"};
  const TimeReply back = time_reply_from_json(to_json(dropped));
  EXPECT_EQ(back.statistics, dropped.statistics);
  EXPECT_EQ(back.dropped_reason, dropped.dropped_reason);
  EXPECT_THAT(back.kernel_ns, IsEmpty());
  EXPECT_EQ(time_reply_from_json(to_json(TimeReply{.hash = "x"})).dropped_reason, std::nullopt);
}

/// All kernels spill, and are dropped wherever a request permits it.
class SpilledTest : public ::testing::Test {
 protected:
  SpilledTest() {
    profile_.device_uuid = "00";
    profile_.name = "spiller";
    device_ = store_.device_id(profile_);
    run_ = store_.begin_run(device_, "1", "{}");
  }

  std::filesystem::path worker() {
    const auto text = [](const TimeReply& reply) { return to_json(reply).dump(); };
    const std::string dropped = text({.hash = "x",
                                      .compile_ns = 1e6,
                                      .statistics = statistics(7),
                                      .dropped_reason = "7 registers spilled"});
    const std::string measured = text({.hash = "x",
                                       .kernel_ns = {1000, 1010},
                                       .compile_ns = 1e6,
                                       .estimate_ns = 1000,
                                       .statistics = statistics(7)});
    const std::string passed = to_json(Certificate{.passed = true, .cases = 3}).dump();
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript(file) << "while read -r request; do\n  echo \"$request\" >>'" << requests_.string()
                       << "'\n  case \"$request\" in\n"
                       << "    *certify*) echo '" << passed << "' ;;\n"
                       << "    *'\"drop_spilled\":true'*) echo '" << dropped << "' ;;\n"
                       << "    *) echo '" << measured << "' ;;\n  esac\ndone\n";
    return file;
  }
  std::vector<std::string> requests() const { return lines_of_file(requests_); }
  CandidateRunner runner() {
    return {store_, worker_, budget_, stop_, {.device = device_, .run = run_}};
  }

  ScratchFolder folder_;
  std::filesystem::path requests_ = folder_ / "requests";
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId device_ = 0, run_ = 0;
  WorkerProcess worker_{worker(), {{"operation", "open"}}};
  Budget budget_{600};
  std::atomic<bool> stop_ = false;
  const Problem problem_ = packed_problem(33, 17, 65);
  static constexpr double kLimitNs = 1e9;
  static constexpr TimeOptions kDropped = {
      .samples = 2, .limit_ns = kLimitNs, .spilled = Spilled::kDrop};
};

TEST_F(SpilledTest, ADroppedCandidateLeavesItsFactsAndNothingElse) {
  CandidateRunner runner = this->runner();
  const Variant variant = fallback_variant();
  const RowId id = runner.id(variant, signature_of(problem_));
  EXPECT_EQ(runner.time(variant, problem_, kDropped), std::nullopt);
  EXPECT_EQ(runner.spilled(), 1u);
  EXPECT_EQ(runner.measured(), 0u);
  EXPECT_EQ(runner.failures(), 0u);
  EXPECT_FALSE(runner.rejected(id));
  EXPECT_THAT(store_.black_listed(device_), IsEmpty());
  EXPECT_THAT(store_.samples(device_, store_.problem_id(problem_)), IsEmpty());
  const auto record = store_.compiler_facts(device_, id);
  ASSERT_TRUE(record);
  EXPECT_THAT(record->facts.registers, Optional(256));
  EXPECT_THAT(record->dropped_reason, Optional(HasSubstr("7 registers")));
}

TEST_F(SpilledTest, KnownSpillersAreNotCompiled) {
  const Variant variant = fallback_variant();
  {
    CandidateRunner first = runner();
    first.time(variant, problem_, kDropped);
    first.time(variant, packed_problem(5, 7, 9), kDropped);
    EXPECT_EQ(first.spilled(), 2u);
  }
  CandidateRunner second = runner();
  EXPECT_EQ(second.time(variant, problem_, kDropped), std::nullopt);
  EXPECT_EQ(second.spilled(), 1u);
  EXPECT_THAT(requests(), SizeIs(1));
}

TEST_F(SpilledTest, ADroppedCandidateMayBeMeasuredLater) {
  CandidateRunner runner = this->runner();
  const Variant variant = fallback_variant();
  const RowId id = runner.id(variant, signature_of(problem_));
  runner.time(variant, problem_, kDropped);
  const auto reply = runner.time(variant, problem_, {.samples = 2, .limit_ns = kLimitNs});
  ASSERT_TRUE(reply);
  EXPECT_THAT(reply->kernel_ns, SizeIs(2));
  EXPECT_THAT(store_.samples(device_, store_.problem_id(problem_)), SizeIs(1));
  EXPECT_EQ(store_.compiler_facts(device_, id)->dropped_reason, std::nullopt);
}

TEST_F(SpilledTest, AProblemWhoseEveryKernelSpillsHasAWinner) {
  set_small_workgroups(profile_.limits);
  std::vector<Variant> space;
  for (const Variant& variant : legal_variants(profile_.limits))
    if (space.size() < 30 && variant.reduction != Reduction::kAtomic) space.push_back(variant);
  const DeviceRates rates = {.fma_gflops = 1e6};
  const TuneOptions options = {.problems = {{problem_, ""}}};
  CandidateRunner runner = this->runner();
  const ProblemTunerContext context = {.store = store_,
                                       .runner = runner,
                                       .device = profile_,
                                       .rates = rates,
                                       .space = space,
                                       .options = options};
  const TuneResult result = tune_alone(context, device_, problem_, 60);
  EXPECT_NE(result.winner, "");
  EXPECT_GT(result.default_ns, 0);
  EXPECT_GT(result.naive_ns, 0);
  EXPECT_GT(result.spilled, 0u);
  EXPECT_EQ(result.rejected, 0u);
  EXPECT_THAT(store_.black_listed(device_), IsEmpty());
  // Only the default, the best known kernel and the fallback are measured.
  std::set<RowId> measured;
  for (const SampleRecord& sample : store_.samples(device_, store_.problem_id(problem_)))
    measured.insert(sample.candidate);
  EXPECT_THAT(measured, SizeIs(::testing::Le(3u)));
  // The next problem reuses the winner of this one.
  const TuneResult next = tune_alone(context, device_, packed_problem(40, 20, 70), 60);
  EXPECT_NE(next.winner, "");
}

}  // namespace
}  // namespace rooftile
