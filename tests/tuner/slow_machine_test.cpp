// Candidates that exceed their time limit, with a shell script as the worker: on a machine that has
// become slower they get more time, on others they are blocked.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "generator/space.h"
#include "generator/version.h"
#include "tests/support/scratch.h"
#include "tests/tuner/scripted_worker.h"
#include "tuner/worker/candidate_runner.h"
#include "tuner/worker/reference_timer.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SlowMachineTest : public ::testing::Test {
 protected:
  SlowMachineTest() {
    profile_.device_uuid = "00";
    set_small_workgroups(profile_.limits);
    profile_.limits.shared_memory_bytes = 32768;
    device_ = store_.device_id(profile_);
    for (const Variant& variant : legal_variants(profile_.limits))
      if (variant.family == Family::kRegister && variants_.size() < 3) variants_.push_back(variant);
  }
  /// The third kernel does not answer the first time. A reading of the reference takes kUsualS
  /// before, and reference_s afterwards.
  CandidateRunner& runner(double reference_s) {
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript(file)
        << "while read -r request; do\n  case \"$request\" in\n"
        << fmt::format("    *reference*) [ -e '{}' ] && sleep {} || sleep {} ;;\n", asked_.string(),
                       reference_s, kUsualS)
        << fmt::format("    *'{0}'*) if [ ! -e '{1}' ]; then touch '{1}'; exec sleep 1000; fi ;;\n",
                       to_string(variants_[2]), asked_.string())
        << "  esac\n  echo '"
        << to_json(TimeReply{.hash = "x", .kernel_ns = {1e6, 1e6}, .compile_ns = 1e6}).dump()
        << "'\ndone\n";
    worker_.emplace(file, Json{{"operation", "open"}});
    runner_.emplace(
        store_, *worker_, budget_, stop_,
        RunnerOptions{.device = device_,
                      .run = store_.begin_run(device_, kGeneratorVersion, "{}"),
                      .reference = ReferenceKernel{variants_[0], packed_problem(64, 64, 64)},
                      .watchdog = {.compilation = {.first_s = 20, .least_s = 2}}});
    EXPECT_TRUE(time(variants_[1])) << "it compiles within a millisecond: limits are short now";
    return *runner_;
  }
  bool time(const Variant& variant) {
    return runner_->time(variant, problem_, {.samples = 2, .limit_ns = 1e6}).has_value();
  }

  static constexpr double kUsualS = 0.1;
  ScratchFolder folder_;
  std::filesystem::path asked_ = folder_ / "asked";
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId device_ = 0;
  std::vector<Variant> variants_;
  Problem problem_ = packed_problem(35, 29, 41);
  Budget budget_{600};
  std::atomic<bool> stop_ = false;
  std::optional<WorkerProcess> worker_;
  std::optional<CandidateRunner> runner_;
};

TEST_F(SlowMachineTest, ACandidateThatExceedsItsTimeOnASlowerMachineIsAskedOnceMore) {
  CandidateRunner& runner = this->runner(5 * kUsualS);
  EXPECT_TRUE(time(variants_[2]));
  EXPECT_THAT(store_.black_listed(device_), IsEmpty());
  EXPECT_GT(runner.lost_s(), 1) << "the first attempt was lost";
}

TEST_F(SlowMachineTest, ACandidateThatExceedsItsTimeOnASteadyMachineIsBlocked) {
  runner(kUsualS);
  EXPECT_FALSE(time(variants_[2]));
  const auto blocked = store_.black_listed(device_);
  ASSERT_THAT(blocked, SizeIs(1));
  EXPECT_EQ(store_.candidate(blocked[0].candidate)->variant, variants_[2]);
  EXPECT_THAT(blocked[0].reason, HasSubstr("timed out"));
}

TEST_F(SlowMachineTest, AMachineThatIsSlowForMostOfARunIsSlowerThanItsFastestReading) {
  // The first reading lets the worker compile the reference, the second is fast, all others slow.
  WorkerScript(folder_ / "worker") << fmt::format(
      "reading=0\nwhile read -r request; do\n"
      "  [ $reading -le 1 ] && sleep {} || sleep {}\n"
      "  reading=$((reading + 1))\n  echo '{}'\ndone\n",
      kUsualS, 5 * kUsualS,
      to_json(TimeReply{.hash = "x", .kernel_ns = {1e6, 1e6}}).dump());
  worker_.emplace(folder_ / "worker", Json{{"operation", "open"}});
  TimeAccount account;
  CandidateRequests requests(store_, device_, *worker_, budget_, stop_, account);
  const ReferenceKernel reference{variants_[0], problem_};
  const RowId candidate = store_.candidate_id(
      {.hash = "reference", .signature = "signature", .variant = reference.variant});
  ReferenceTimer timer(store_, store_.begin_run(device_, kGeneratorVersion, "{}"), requests);
  for (int reading = 0; reading < 5; ++reading)
    ASSERT_TRUE(timer.time_ns(candidate, reference, 1));
  EXPECT_GT(timer.slowdown(), 2);
}

TEST_F(SlowMachineTest, AReadingOfTheReferenceIsOneActivityWhateverTheWorkerDidForIt) {
  TimeReply reply{.hash = "x", .kernel_ns = {1e6, 1e6}};
  reply.seconds[static_cast<std::size_t>(Activity::kClocks)] = kUsualS;
  WorkerScript(folder_ / "worker") << fmt::format(
      "while read -r request; do\n  case \"$request\" in *reference*) sleep {} ;; esac\n"
      "  echo '{}'\ndone\n",
      kUsualS, to_json(reply).dump());
  worker_.emplace(folder_ / "worker", Json{{"operation", "open"}});
  runner_.emplace(store_, *worker_, budget_, stop_,
                  RunnerOptions{.device = device_,
                                .run = store_.begin_run(device_, kGeneratorVersion, "{}"),
                                .reference = ReferenceKernel{variants_[0], problem_}});
  EXPECT_TRUE(time(variants_[1]));
  const ActivitySeconds seconds = runner_->account().seconds();
  EXPECT_GE(seconds[static_cast<std::size_t>(Activity::kReference)], kUsualS);
  EXPECT_EQ(seconds[static_cast<std::size_t>(Activity::kClocks)], kUsualS) << "the candidate's";
}

// One candidate is refused for lack of memory, then the worker can no longer be started.
TEST_F(SlowMachineTest, ACandidateWithoutMemoryIsNeitherBlockedNorUnverified) {
  const std::filesystem::path file = folder_ / "worker";
  WorkerScript(file) << "read -r request\necho '{\"error\":"
                     << static_cast<int>(ErrorCode::kOutOfMemory)
                     << ",\"message\":\"the compiler got none; free some\"}'\nread -r end\n";
  worker_.emplace(file, Json{{"operation", "open"}});
  std::vector<std::string> messages;
  runner_.emplace(
      store_, *worker_, budget_, stop_,
      RunnerOptions{.device = device_,
                    .run = store_.begin_run(device_, kGeneratorVersion, "{}"),
                    .message = [&](const std::string& text) { messages.push_back(text); }});
  EXPECT_FALSE(time(variants_[1]));
  EXPECT_THAT(messages, ElementsAre(AllOf(HasSubstr("memory ran out: the compiler got none"),
                                          HasSubstr("tune again with more"))));
  std::filesystem::remove(file);
  worker_.emplace(file, Json{{"operation", "open"}});
  EXPECT_THROW(time(variants_[2]), Error);
  EXPECT_THAT(store_.black_listed(device_), IsEmpty());
  EXPECT_THAT(store_.journal(device_), IsEmpty());
}

// Whether the worker crashed, or hung, because it got no memory cannot be seen.
TEST_F(SlowMachineTest, ACrashOrHangUnderALimitOfMemoryBlocksNoCandidate) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit finite = {.rlim_cur = RLIM_INFINITY - 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &finite), 0);
  EXPECT_EQ(outcome_of({.fate = WorkerFate::kTimedOut}).failure, std::nullopt);
  EXPECT_TRUE(outcome_of({.fate = WorkerFate::kTimedOut}).lacked_memory);
  EXPECT_THAT(outcome_of({.fate = WorkerFate::kCrashed, .message = "signal 11"}).message,
              HasSubstr("signal 11; the limit on the memory"));
  EXPECT_EQ(outcome_of({.fate = WorkerFate::kCrashed}).failure, std::nullopt);
  EXPECT_EQ(outcome_of({.fate = WorkerFate::kOutOfMemory}).failure, SampleStatus::kCrashed);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(outcome_of({.fate = WorkerFate::kCrashed}).failure, SampleStatus::kCrashed);
}

}  // namespace
}  // namespace rooftile
