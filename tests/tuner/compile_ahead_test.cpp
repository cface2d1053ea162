// Candidates that are compiled ahead, with shell scripts as the compiling and measuring workers.
#include "tuner/worker/compile_ahead.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "generator/space.h"
#include "generator/version.h"
#include "tests/support/await.h"
#include "tests/support/file_text.h"
#include "tests/support/scratch.h"
#include "tests/tuner/scripted_worker.h"
#include "tuner/worker/calibration_run.h"
#include "tuner/worker/candidate_runner.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kAheadNs = 8e8;

class CompileAheadTest : public ::testing::Test {
 protected:
  CompileAheadTest() {
    profile_.device_uuid = "00";
    set_small_workgroups(profile_.limits);
    profile_.limits.shared_memory_bytes = 32768;
    device_ = store_.device_id(profile_);
    run_ = store_.begin_run(device_, kGeneratorVersion, "{}");
    for (const Variant& variant : legal_variants(profile_.limits))
      if (variant.family == Family::kRegister && variants_.size() < 8) variants_.push_back(variant);
  }

  std::unique_ptr<WorkerProcess> script(const std::string& name, const std::string& body) {
    const std::filesystem::path file = folder_ / name;
    WorkerScript(file) << body << "\n";
    return std::make_unique<WorkerProcess>(file, Json{{"operation", "open"}});
  }
  /// Workers that keep each request in "compiled", run `before` and answer.
  CompilerPool& compilers(const std::string& before = "", int count = 2) {
    std::vector<std::unique_ptr<WorkerProcess>> workers;
    for (int i = 0; i < count; ++i)
      workers.push_back(
          script("compiler", fmt::format("while read -r request; do\n{}\necho \"$request\" >>'{}'\n"
                                         "echo '{{\"compile_ns\":{}}}'\ndone",
                                         before, (folder_ / "compiled").string(), kAheadNs)));
    return pool_.emplace(std::move(workers), budget_);
  }
  /// The worker that measures: its compilation takes again_ns.
  CandidateRunner& runner(CompilerPool& pool, double again_ns, bool shared_processors = true) {
    worker_ = script(
        "worker",
        fmt::format("while read -r request; do echo '{}'; done",
                    to_json(TimeReply{.hash = "x", .kernel_ns = {1e6, 1e6}, .compile_ns = again_ns})
                        .dump()));
    return runner_.emplace(store_, *worker_, budget_, stop_,
                           RunnerOptions{.device = device_,
                                         .run = run_,
                                         .compilers = &pool,
                                         .shared_processors = shared_processors});
  }
  std::size_t compiled() const { return line_count(folder_ / "compiled"); }
  std::vector<Variant> some(std::size_t first, std::size_t count) const {
    const auto begin = variants_.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  ScratchFolder folder_;
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId device_ = 0, run_ = 0;
  std::vector<Variant> variants_;
  Problem problem_ = packed_problem(35, 29, 41);
  Budget budget_{600};
  std::atomic<bool> stop_ = false;
  std::unique_ptr<WorkerProcess> worker_;
  std::optional<CompilerPool> pool_;
  std::optional<CandidateRunner> runner_;
};

// Each of the two waits until the other has begun.
TEST_F(CompileAheadTest, TwoAreCompiledAtTheSameTime) {
  const std::string meet =
      fmt::format("touch '{0}'$$\nuntil [ $(ls '{1}' | grep -c begun) -ge 2 ]; do :; done",
                  file("begun"), std::filesystem::path(file("begun")).parent_path().string());
  runner(compilers(meet), 1).compile_ahead(some(0, 2), problem_, Wanted::kNow);
  EXPECT_EQ(compiled(), 2u);
  EXPECT_THAT(store_.black_listed(device_), IsEmpty());
}

TEST_F(CompileAheadTest, OnSharedProcessorsAllAreCompiledBeforeAnyIsMeasured) {
  CandidateRunner& runner = this->runner(compilers(), 1);
  runner.compile_ahead(some(0, 4), problem_, Wanted::kNow);
  EXPECT_EQ(compiled(), 4u);
  EXPECT_THAT(store_.journal(device_), IsEmpty());
}

TEST_F(CompileAheadTest, BesideAGpuACandidateWaitsForItsOwnCompilationOnly) {
  // The second candidate's compiler waits for a file that appears later.
  const std::string wait =
      fmt::format("case \"$request\" in *'{}'*) until [ -e '{}' ]; do :; done ;; esac",
                  to_string(variants_[1]), file("go"));
  CandidateRunner& runner = this->runner(compilers(wait), 1, false);
  runner.compile_ahead(some(0, 2), problem_, Wanted::kNow);
  EXPECT_TRUE(runner.time(variants_[0], problem_, {.samples = 2}));
  EXPECT_EQ(compiled(), 1u);
  EXPECT_THAT(store_.journal(device_), SizeIs(1)) << "the second is being compiled";
  std::ofstream(file("go")) << "";
  EXPECT_TRUE(runner.time(variants_[1], problem_, {.samples = 2}));
  EXPECT_EQ(compiled(), 2u);
  EXPECT_THAT(store_.journal(device_), IsEmpty());
}

TEST_F(CompileAheadTest, WhatTheNextStepMeasuresIsCompiledBeforeWhatWaits) {
  // The only compiler is at work on the first candidate until a file appears.
  const std::string wait =
      fmt::format("touch '{}'\nuntil [ -e '{}' ]; do :; done", file("begun"), file("go"));
  CandidateRunner& runner = this->runner(compilers(wait, 1), 1, false);
  runner.compile_ahead(some(0, 1), problem_, Wanted::kLater);
  ASSERT_TRUE(await("it has begun", [&] { return std::filesystem::exists(file("begun")); }));
  runner.compile_ahead(some(1, 7), problem_, Wanted::kLater);
  runner.compile_ahead(some(6, 2), problem_, Wanted::kNow);
  std::ofstream(file("go")) << "";
  for (const Variant& variant : some(0, 8)) runner.time(variant, problem_, {.samples = 2});
  const std::vector<std::string> order = lines_of_file(folder_ / "compiled");
  ASSERT_THAT(order, SizeIs(8));
  EXPECT_THAT(order[1], HasSubstr(to_string(variants_[6])));
  EXPECT_THAT(order[2], HasSubstr(to_string(variants_[7])));
}

TEST_F(CompileAheadTest, ACandidateIsCompiledAheadOnceAndItsTimeIsThatOfThisCompilation) {
  CandidateRunner& runner = this->runner(compilers(), 1);
  for (int i = 0; i < 2; ++i) runner.compile_ahead(some(0, 2), problem_, Wanted::kNow);
  EXPECT_EQ(compiled(), 2u);
  const auto reply = runner.time(variants_[0], problem_, {.samples = 2});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->compile_ns, kAheadNs);
  EXPECT_EQ(store_.samples(device_, store_.problem_id(problem_)).at(0).compile_ns, kAheadNs);
}

TEST_F(CompileAheadTest, EndsWhereTheMeasuringWorkerCompilesAllOfItAgain) {
  CandidateRunner& runner = this->runner(compilers(), kAheadNs);
  runner.compile_ahead(some(0, 4), problem_, Wanted::kNow);
  for (const Variant& variant : some(0, 4)) runner.time(variant, problem_, {.samples = 2});
  runner.compile_ahead(some(4, 4), problem_, Wanted::kNow);
  EXPECT_EQ(compiled(), 4u);
}

TEST_F(CompileAheadTest, GoesOnWhereTheMeasuringWorkerFindsTheCode) {
  CandidateRunner& runner = this->runner(compilers(), kAheadNs / 8);
  runner.compile_ahead(some(0, 4), problem_, Wanted::kNow);
  for (const Variant& variant : some(0, 4)) runner.time(variant, problem_, {.samples = 2});
  runner.compile_ahead(some(4, 4), problem_, Wanted::kNow);
  EXPECT_EQ(compiled(), 8u);
}

TEST_F(CompileAheadTest, TheMeasuringWorkerGetsTheCodeWithTheFirstRequest) {
  std::vector<std::unique_ptr<WorkerProcess>> workers;
  workers.push_back(
      script("compiler",
             "while read -r request; do echo '{\"compile_ns\":8e8,\"code\":\"00ff7f\"}'; done"));
  worker_ = script(
      "worker",
      fmt::format("while read -r request; do echo \"$request\" >>'{}'; echo '{}'; done",
                  file("asked"), to_json(TimeReply{.hash = "x", .kernel_ns = {1e6}}).dump()));
  CandidateRunner runner(
      store_, *worker_, budget_, stop_,
      {.device = device_, .run = run_, .compilers = &pool_.emplace(std::move(workers), budget_)});
  runner.compile_ahead(some(0, 1), problem_, Wanted::kNow);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(runner.time(variants_[0], problem_, {}));
  std::vector<std::string> code;
  for (const std::string& line : lines_of_file(file("asked")))
    code.push_back(time_request_from_json(Json::parse(line)->at("request")).code);
  EXPECT_THAT(code, testing::ElementsAre(std::string("\0\xff\x7f", 3), ""));
}

TEST_F(CompileAheadTest, TheJournalNamesNoKernelThatOnlyWaitsForItsMeasurement) {
  CandidateRunner& runner = this->runner(compilers(), 1, false);
  runner.compile_ahead(some(0, 4), problem_, Wanted::kLater);
  EXPECT_TRUE(await("all are compiled", [&] { return compiled() == 4; }));
  EXPECT_TRUE(await("the journal is empty", [&] {
    runner.await_a_compiler();
    return store_.journal(device_).empty();
  }));
  EXPECT_TRUE(runner.time(variants_[0], problem_, {.samples = 2}));
}

TEST_F(CompileAheadTest, ASecondOfCompilingAheadIsOneOfWaiting) {
  CandidateRunner& runner = this->runner(compilers("sleep 0.3"), 1);
  runner.compile_ahead(some(0, 1), problem_, Wanted::kNow);
  const ActivitySeconds seconds = runner.account().seconds();
  EXPECT_GE(seconds[static_cast<std::size_t>(Activity::kAwaitingCompilers)], 0.3);
}

TEST_F(CompileAheadTest, WhatNobodyWillMeasureIsNotBegun) {
  runner(compilers("sleep 0.3"), 1, false).compile_ahead(some(0, 8), problem_, Wanted::kNow);
  runner_.reset();
  EXPECT_LE(compiled(), 2u) << "one of each compiler";
  EXPECT_THAT(store_.journal(device_), IsEmpty());
}

TEST_F(CompileAheadTest, WhatTheMeasuringWorkerHasCompiledIsNotCompiledAhead) {
  CandidateRunner& runner = this->runner(compilers(), kAheadNs);
  for (const Variant& variant : some(0, 4)) runner.time(variant, problem_, {.samples = 2});
  runner.compile_ahead(some(0, 4), problem_, Wanted::kNow);
  EXPECT_EQ(compiled(), 0u);
}

TEST_F(CompileAheadTest, ACompilerThatDiesCostsItsCandidateOnly) {
  const std::string die =
      fmt::format("case \"$request\" in *'{}'*) kill -SEGV $$ ;; esac", to_string(variants_[1]));
  CandidateRunner& runner = this->runner(compilers(die), 1);
  runner.compile_ahead(some(0, 4), problem_, Wanted::kNow);
  const auto blocked = store_.black_listed(device_);
  ASSERT_THAT(blocked, SizeIs(1));
  EXPECT_EQ(store_.candidate(blocked[0].candidate)->variant, variants_[1]);
  EXPECT_THAT(blocked[0].reason, HasSubstr("signal 11"));
  EXPECT_EQ(runner.failures(), 1u);
  EXPECT_EQ(store_.samples(device_, store_.problem_id(problem_)).at(0).status,
            SampleStatus::kCrashed);
  EXPECT_FALSE(runner.time(variants_[1], problem_, {.samples = 2}));
  for (const std::size_t i : {0, 2, 3})
    EXPECT_TRUE(runner.time(variants_[i], problem_, {.samples = 2})) << i;
}

TEST_F(CompileAheadTest, ACompilerThatHangsIsEndedAndTheNextJobGetsANewOne) {
  CompilerPool& pool = compilers("case \"$request\" in *hang*) exec sleep 1000 ;; esac");
  for (const RowId candidate : {1, 2})
    pool.post({.candidate = candidate, .request = {{"operation", "hang"}}, .watchdog_s = 0.2});
  for (const RowId candidate : {3, 4})
    pool.post({.candidate = candidate, .request = {{"operation", "compile"}}, .watchdog_s = 30});
  for (const RowId candidate : {1, 2})
    EXPECT_EQ(pool.wait(candidate, stop_).answer.fate, WorkerFate::kTimedOut);
  for (const RowId candidate : {3, 4})
    EXPECT_EQ(pool.wait(candidate, stop_).answer.fate, WorkerFate::kAnswered);
}

TEST_F(CompileAheadTest, AnInterruptedRunBlocksNoKernel) {
  CandidateRunner& runner = this->runner(compilers("exec sleep 1000"), 1, false);
  runner.compile_ahead(some(0, 4), problem_, Wanted::kNow);
  stop_ = true;
  runner_.reset();
  EXPECT_THAT(store_.black_listed(device_), IsEmpty());
  EXPECT_THAT(store_.journal(device_), IsEmpty());
}

TEST_F(CompileAheadTest, TheEndOfTheBudgetBlocksNoKernel) {
  budget_.leave_out(-599.9);
  this->runner(compilers("exec sleep 1000"), 1).compile_ahead(some(0, 2), problem_, Wanted::kNow);
  EXPECT_THAT(store_.black_listed(device_), IsEmpty());
}

TEST_F(CompileAheadTest, WorkersThatCannotOpenTheDeviceBlameNobody) {
  std::vector<std::unique_ptr<WorkerProcess>> workers;
  workers.push_back(std::make_unique<WorkerProcess>("/bin/false", Json{{"operation", "open"}}));
  CandidateRunner& runner = this->runner(pool_.emplace(std::move(workers), budget_), 1);
  runner.compile_ahead(some(0, 2), problem_, Wanted::kNow);
  EXPECT_THAT(store_.black_listed(device_), IsEmpty());
  EXPECT_TRUE(runner.time(variants_[0], problem_, {.samples = 2}));
}

TEST(CompileWorkersTest, AreAsManyAsProcessorsAndMemorySufficeFor) {
  constexpr std::size_t kBatch = 4;
  DeviceProfile software{.kind = DeviceKind::kSoftware}, gpu{.kind = DeviceKind::kDiscrete};
  const auto count = [](const DeviceProfile& device, std::size_t processors) {
    return compile_workers("/bin/true", device, processors, kBatch).size();
  };
  EXPECT_EQ(count(software, 1), 0u);
  EXPECT_EQ(count(software, 2), 2u);
  EXPECT_LE(count(software, 64), kBatch);
  gpu.device_memory_bytes = std::uint64_t{80} << 30;
  EXPECT_EQ(count(gpu, 1), 0u);
  EXPECT_EQ(count(gpu, 3), 2u);
  const double host_bytes = worker_memory_limit_bytes();
  const std::size_t most = count(gpu, 1000);
  EXPECT_LE(most, 32u);
  EXPECT_LE(static_cast<double>(most - 1), host_bytes / (1 << 30));
  gpu.device_memory_bytes = std::uint64_t{2} << 30;
  EXPECT_LE(count(gpu, 1000), 2u);
}

}  // namespace
}  // namespace rooftile
