// A shell script is the fake worker: it answers, hangs, dies or sends invalid replies.
#include "tuner/worker/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/file_text.h"
#include "tests/support/scratch.h"
#include "tests/tuner/scripted_worker.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

class WorkerProcessTest : public ::testing::Test {
 protected:
  std::filesystem::path script(const std::string& body) {
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript(file) << body << "\n";
    return file;
  }
  ScratchFolder folder_;
  std::atomic<bool> stop_ = false;
  static constexpr double kLongS = 30;
};

TEST_F(WorkerProcessTest, AnswersAndRefusals) {
  WorkerProcess worker(
      script("read a; echo '{\"x\":1}'; read b; echo '{\"error\":1,\"message\":\"no\"}'; read c"),
      {{"operation", "open"}});
  const WorkerAnswer first = worker.ask({{"operation", "a"}}, kLongS, stop_);
  ASSERT_EQ(first.fate, WorkerFate::kAnswered) << first.message;
  EXPECT_EQ(first.reply.at("x").get<int>(), 1);
  const WorkerAnswer second = worker.ask({{"operation", "b"}}, kLongS, stop_);
  EXPECT_EQ(second.fate, WorkerFate::kRefused);
  EXPECT_EQ(second.message, "no");
}

TEST_F(WorkerProcessTest, AHangIsKilledAndANewWorkerStarted) {
  WorkerProcess worker(script("read a; exec sleep 1000"), {{"operation", "open"}});
  EXPECT_EQ(worker.ask({{"operation", "a"}}, 0.2, stop_).fate, WorkerFate::kTimedOut);
  EXPECT_EQ(worker.pid(), 0);
  EXPECT_EQ(worker.ask({{"operation", "a"}}, 0.2, stop_).fate, WorkerFate::kTimedOut);
}

TEST_F(WorkerProcessTest, AWorkerThatDoesNotReadALongRequestIsKilledToo) {
  WorkerProcess worker(script("exec sleep 1000"), {{"operation", "open"}});
  const std::string longer_than_any_pipe(4 << 20, '0');
  EXPECT_EQ(worker.ask({{"operation", longer_than_any_pipe}}, 0.2, stop_).fate,
            WorkerFate::kTimedOut);
}

TEST_F(WorkerProcessTest, ALongRequestArrives) {
  WorkerProcess worker(script("read a; echo \"{\\\"x\\\":${#a}}\"; read b"),
                       {{"operation", "open"}});
  const Json request = {{"operation", std::string(1 << 20, '0')}};
  const WorkerAnswer answer = worker.ask(request, kLongS, stop_);
  ASSERT_EQ(answer.fate, WorkerFate::kAnswered) << answer.message;
  EXPECT_EQ(answer.reply.at("x").get<std::size_t>(), request.dump().size());
}

TEST_F(WorkerProcessTest, ACrashIsReportedWithItsSignal) {
  WorkerProcess worker(script("read a; kill -SEGV $$"), {{"operation", "open"}});
  const WorkerAnswer answer = worker.ask({{"operation", "a"}}, kLongS, stop_);
  EXPECT_EQ(answer.fate, WorkerFate::kCrashed);
  EXPECT_THAT(answer.message, HasSubstr("signal 11"));
}

TEST_F(WorkerProcessTest, AnAnswerThatHasNotTheFormOfOneIsACrash) {
  for (const std::string answer :
       {"[]", "7", "null", "\"text\"", R"({"error":"x"})", R"({"error":1})",
        R"({"error":1,"message":{}})", R"({"error":9,"message":"of no code"})",
        R"({"error":-1,"message":"of no code"})", "{"}) {
    WorkerProcess worker(script("read a; echo '" + answer + "'; read b"), {{"operation", "open"}});
    const WorkerAnswer got = worker.ask({{"operation", "a"}}, kLongS, stop_);
    EXPECT_EQ(got.fate, WorkerFate::kCrashed) << answer;
    EXPECT_THAT(got.message, HasSubstr("the worker's answer")) << answer;
    EXPECT_EQ(worker.pid(), 0) << answer;
  }
}

TEST_F(WorkerProcessTest, AnAnswerWithoutEndIsCutOff) {
  WorkerProcess worker(script("read a; exec cat /dev/zero"), {{"operation", "open"}});
  const WorkerAnswer answer = worker.ask({{"operation", "a"}}, kLongS, stop_);
  EXPECT_EQ(answer.fate, WorkerFate::kCrashed);
  EXPECT_THAT(answer.message, HasSubstr("longer than"));
}

TEST_F(WorkerProcessTest, AWorkerWhoseDeviceFailedIsNotReused) {
  for (const ErrorCode code : {ErrorCode::kDevice, ErrorCode::kTimeout}) {
    WorkerProcess worker(
        script(fmt::format("read a; echo '{{\"error\":{},\"message\":\"lost\"}}'; read b",
                           static_cast<int>(code))),
        {{"operation", "open"}});
    const WorkerAnswer answer = worker.ask({{"operation", "a"}}, kLongS, stop_);
    EXPECT_EQ(answer.fate, WorkerFate::kRefused);
    EXPECT_EQ(answer.message, "lost");
    EXPECT_EQ(worker.pid(), 0);
  }
}

TEST_F(WorkerProcessTest, ARequestIsRepeatedAfterTheWorkerIsKilledFromOutside) {
  const std::string marker = (folder_ / "killed").string();
  WorkerProcess once(script("read a; [ -e " + marker + " ] || { touch " + marker +
                            "; kill -KILL $$; }; echo '{}'; read b"),
                     {{"operation", "open"}});
  EXPECT_EQ(once.ask({{"operation", "a"}}, kLongS, stop_).fate, WorkerFate::kAnswered);
  WorkerProcess always(script("read a; kill -KILL $$"), {{"operation", "open"}});
  const WorkerAnswer answer = always.ask({{"operation", "a"}}, kLongS, stop_);
  EXPECT_EQ(answer.fate, WorkerFate::kCrashed);
  EXPECT_THAT(answer.message, HasSubstr("the worker was killed from outside"));
}

// The previous request may have corrupted the worker's memory.
TEST_F(WorkerProcessTest, ARequestIsRepeatedInANewWorkerWhenAUsedOneCrashes) {
  const std::string marker = (folder_ / "crashed").string();
  WorkerProcess worker(script("read a; echo '{}'; read b; [ -e " + marker + " ] || { touch " +
                              marker + "; kill -SEGV $$; }; echo '{}'; read c"),
                       {{"operation", "open"}});
  ASSERT_EQ(worker.ask({{"operation", "a"}}, kLongS, stop_).fate, WorkerFate::kAnswered);
  EXPECT_EQ(worker.ask({{"operation", "b"}}, kLongS, stop_).fate, WorkerFate::kAnswered);
}

TEST_F(WorkerProcessTest, ARequestThatCrashesANewWorkerTooFails) {
  const std::string served = (folder_ / "served").string();
  WorkerProcess crashes(script("while read request; do case \"$request\" in *crash*) echo x >> " +
                               served + "; kill -SEGV $$;; esac; echo '{}'; done"),
                        {{"operation", "open"}});
  ASSERT_EQ(crashes.ask({{"operation", "a"}}, kLongS, stop_).fate, WorkerFate::kAnswered);
  const WorkerAnswer answer = crashes.ask({{"operation", "crash"}}, kLongS, stop_);
  EXPECT_EQ(answer.fate, WorkerFate::kCrashed);
  EXPECT_THAT(answer.message, HasSubstr("signal 11"));
  EXPECT_EQ(bytes_of_file(served), "x\nx\n");
}

TEST_F(WorkerProcessTest, AWorkerThatHoldsTooMuchIsKilled) {
  constexpr double kLimitBytes = 64e6;
  WorkerProcess worker(script("read a; exec perl -e '$x = \"x\" x 300e6; sleep 1000'"),
                       {{"operation", "open"}}, kLimitBytes);
  const WorkerAnswer answer = worker.ask({{"operation", "a"}}, kLongS, stop_);
  EXPECT_EQ(answer.fate, WorkerFate::kOutOfMemory);
  EXPECT_THAT(answer.message, HasSubstr("out of memory"));
  EXPECT_EQ(worker.pid(), 0);
}

TEST_F(WorkerProcessTest, AnInvalidReplyEndsTheWorker) {
  WorkerProcess worker(script("read a; echo 'no json here'; read b"), {{"operation", "open"}});
  EXPECT_EQ(worker.ask({{"operation", "a"}}, kLongS, stop_).fate, WorkerFate::kCrashed);
  EXPECT_EQ(worker.pid(), 0);
}

TEST(WorkerReplies, ATimeBelowZeroIsRefused) {
  const Json good =
      to_json(TimeReply{.hash = "x", .kernel_ns = {1, 0}, .pack_ns = 2, .compile_ns = 3});
  EXPECT_THAT(time_reply_from_json(good).kernel_ns, ::testing::ElementsAre(1, 0));
  const TimeReply bad[] = {
      {.kernel_ns = {1, -1}}, {.pack_ns = -1}, {.compile_ns = -1}, {.estimate_ns = -1}};
  for (const TimeReply& reply : bad) EXPECT_THROW(time_reply_from_json(to_json(reply)), Error);
}

// As Ctrl-Z does: the worker stops its tuner for longer than the deadline.
static_assert(static_cast<int>(ErrorCode::kTimeout) == 4);
TEST_F(WorkerProcessTest, ARequestDuringWhichTheTunerWasStoppedIsRepeated) {
  const std::string asked = (folder_ / "asked").string();
  for (const std::string said : {"echo '{\"error\":4,\"message\":\"the device took too long\"}'",
                                 "exec sleep 1000", "echo '{\"spoilt\":1}'"}) {
    WorkerProcess worker(
        script(fmt::format("while read a; do [ -e {0} ] || {{ touch {0}; kill -STOP $PPID; sleep "
                           "2; kill -CONT $PPID; {1}; continue; }}; echo '{{\"x\":1}}'; done",
                           asked, said)),
        {{"operation", "open"}});
    const WorkerAnswer answer = worker.ask({{"operation", "a"}}, 1, stop_);
    ASSERT_EQ(answer.fate, WorkerFate::kAnswered) << said << answer.message;
    EXPECT_TRUE(answer.reply.contains("x")) << said;
    std::filesystem::remove(asked);
  }
}

TEST_F(WorkerProcessTest, ARequestInWhoseMiddleTheTunerWasStoppedIsRepeated) {
  // The tuner waits for a reader of what a pipe does not hold.
  const std::string long_text(1 << 20, 'x'), asked = (folder_ / "asked").string();
  WorkerProcess worker(
      script(fmt::format("[ -e {0} ] || {{ touch {0}; kill -STOP $PPID; sleep 2; kill -CONT $PPID; "
                         "read a; echo '{{\"spoilt\":1}}'; }}; while read a; do echo "
                         "'{{\"x\":1}}'; done",
                         asked)),
      {{"operation", "open"}});
  const WorkerAnswer answer = worker.ask({{"operation", long_text}}, 1, stop_);
  ASSERT_EQ(answer.fate, WorkerFate::kAnswered) << answer.message;
  EXPECT_TRUE(answer.reply.contains("x"));
}

TEST_F(WorkerProcessTest, StopInterrupts) {
  WorkerProcess worker(script("read a; exec sleep 1000"), {{"operation", "open"}});
  stop_ = true;
  EXPECT_EQ(worker.ask({{"operation", "a"}}, kLongS, stop_).fate, WorkerFate::kInterrupted);
}

TEST_F(WorkerProcessTest, AMissingProgramIsAnError) {
  WorkerProcess worker(folder_ / "nothing", {{"operation", "open"}});
  EXPECT_THROW(worker.ask({{"operation", "a"}}, kLongS, stop_), Error);
}

}  // namespace
}  // namespace rooftile
