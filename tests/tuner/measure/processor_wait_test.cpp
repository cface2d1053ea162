#include "tuner/measure/processor_wait.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/support/await.h"
#include "tuner/measure/free_processors.h"

namespace rooftile {
namespace {

TEST(ProcessorWaitTest, ShareIsOfWhatTheThreadsAskedFor) {
  EXPECT_EQ(ProcessorWait().share(), 0);
  EXPECT_DOUBLE_EQ((ProcessorWait{.ran_ns = 30, .waited_ns = 10}).share(), 0.25);
  const ProcessorWait used =
      ProcessorWait{.ran_ns = 50, .waited_ns = 10} - ProcessorWait{.ran_ns = 20, .waited_ns = 5};
  EXPECT_EQ(used.ran_ns, 30);
  EXPECT_EQ(used.waited_ns, 5);
}

/// Spins until the process has used this much processor time.
void work() {
  std::atomic<int> sum = 0;
  for (int i = 0; i < 20'000'000; ++i) sum.fetch_add(1, std::memory_order_relaxed);
}

// Two threads on one processor cannot run at once, so one of them waits.
TEST(ProcessorWaitTest, TwoThreadsOnOneProcessorWait) {
  if (!std::filesystem::exists("/proc/self/schedstat")) {
    EXPECT_EQ(processor_wait_now().waited_ns, 0) << "the operating system does not count waiting";
    return;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(own_processors().front(), &one);
  std::atomic<int> at_work = 2;
  std::atomic<bool> measured = false;
  const auto share_it = [&] {
    EXPECT_EQ(::pthread_setaffinity_np(::pthread_self(), sizeof one, &one), 0);
    work();
    --at_work;
    // The count excludes threads that have ended.
    while (!measured.load()) std::this_thread::yield();
  };
  const ProcessorWait before = processor_wait_now();
  std::jthread first(share_it), second(share_it);
  EXPECT_TRUE(await("both threads have done their work", [&] { return at_work == 0; }));
  const ProcessorWait used = processor_wait_now() - before;
  measured = true;
  EXPECT_GT(used.ran_ns, 0);
  EXPECT_GT(used.share(), 0.1);
}

}  // namespace
}  // namespace rooftile
