#include "runtime/support/background.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/forked_child.h"
#include "tests/support/forked_threads.h"

namespace rooftile {
namespace {

TEST(BackgroundTest, JobsRunInOrderOnOneThreadAndMayPostFurtherJobs) {
  std::vector<int> order;
  Background background;
  for (int burst = 0; burst < 3; ++burst) {
    std::latch done(1);
    for (int job = 0; job < 3; ++job)
      EXPECT_TRUE(background.post([&order, burst, job] { order.push_back(10 * burst + job); }));
    background.post([&] { done.count_down(); });
    done.wait();
  }
  EXPECT_EQ(order, (std::vector{0, 1, 2, 10, 11, 12, 20, 21, 22}));
}

TEST(BackgroundTest, DestructionWaitsForTheRunningJob) {
  std::latch started(1), go_on(1);
  bool finished = false;
  std::jthread opener;
  {
    Background background;
    background.post([&] {
      started.count_down();
      go_on.wait();
      finished = true;
    });
    started.wait();
    opener = std::jthread([&] { go_on.count_down(); });
  }
  EXPECT_TRUE(finished);
}

TEST(BackgroundTest, BackgroundThreadBlocksSignals) {
  sigset_t seen;
  ::sigemptyset(&seen);
  {
    std::latch done(1);
    Background background;
    background.post([&] {
      ::pthread_sigmask(SIG_SETMASK, nullptr, &seen);
      done.count_down();
    });
    done.wait();
  }
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM})
    EXPECT_EQ(::sigismember(&seen, signal), 1) << signal;
  sigset_t own;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(::sigismember(&own, SIGINT), 0);
}

TEST(BackgroundTest, AForkedChildNeitherRunsNorWaitsForTheParentsJobs) {
  std::latch started(1), go_on(1);
  auto background = std::make_unique<Background>();
  background->post([&] {
    started.count_down();
    go_on.wait();
  });
  started.wait();
  EXPECT_EQ(in_a_child([&] {
              const bool refused = !background->post([] {});
              background.reset();
              return refused;
            }),
            0);
  go_on.count_down();
}

TEST(BackgroundTest, AForkedChildOfAnIdleParentRunsItsOwnJobs) {
  SKIP_WITH_THREAD_SANITIZER();
  auto background = std::make_unique<Background>();
  EXPECT_EQ(in_a_child([&] {
              std::atomic<bool> ran = false;
              std::latch done(1);
              background->post([&] {
                ran = true;
                done.count_down();
              });
              done.wait();
              background.reset();
              return ran.load();
            }),
            0);
}

// Drivers' compilers register exit handlers as late as in a job. Such a handler finds no job that
// uses what it destroys.
TEST(BackgroundTest, AJobEndsBeforeTheExitHandlersThatWereRegisteredMeanwhile) {
  SKIP_WITH_THREAD_SANITIZER();
  static std::atomic<bool> ended = false;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);                                // Turns a hang into a failure.
    static auto& background = *new Background;  // The process ends without its destructor.
    static std::latch started(1);
    background.post([] {
      started.count_down();
      while (Background::wait_at_exit()) std::this_thread::yield();
      ended = true;
    });
    started.wait();
    std::atexit([] { ::_exit(ended ? 0 : 1); });
    std::exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rooftile
