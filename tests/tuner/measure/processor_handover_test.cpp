#include "tuner/measure/processor_handover.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <functional>
#include <optional>
#include <thread>

namespace rooftile {
namespace {

cpu_set_t own_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof set, &set), 0);
  return set;
}

/// Runs on a thread of its own, so that the next test's thread keeps its processors.
void on_a_thread(const std::function<void()>& body) { std::thread(body).join(); }

TEST(ProcessorHandover, TakesTimeBetweenTwoProcessors) {
  on_a_thread([] {
    const cpu_set_t before = own_processors();
    const std::optional<double> handover = processor_handover_ns();
    EXPECT_EQ(handover.has_value(), CPU_COUNT(&before) > 1);
    EXPECT_GT(handover.value_or(1), 0);
  });
}

TEST(ProcessorHandover, LeavesTheThreadItsProcessors) {
  on_a_thread([] {
    const cpu_set_t before = own_processors();
    processor_handover_ns();
    const cpu_set_t after = own_processors();
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  });
}

TEST(ProcessorHandover, NoneWithOneProcessor) {
  on_a_thread([] {
    const cpu_set_t all = own_processors();
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(::pthread_setaffinity_np(::pthread_self(), sizeof one, &one), 0);
    EXPECT_EQ(processor_handover_ns(), std::nullopt);
  });
}

}  // namespace
}  // namespace rooftile
