#include "tuner/measure/processor_pace.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

namespace rooftile {
namespace {

cpu_set_t processors_of(pthread_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::pthread_getaffinity_np(thread, sizeof set, &set), 0);
  return set;
}

/// The number of this process's other threads that are bound to one processor, by processor.
std::map<int, int> bound_threads() {
  std::map<int, int> bound;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t thread = std::stoi(task.path().filename());
    cpu_set_t set;
    CPU_ZERO(&set);
    if (thread == ::gettid() || ::sched_getaffinity(thread, sizeof set, &set) != 0) continue;
    for (int i = 0; CPU_COUNT(&set) == 1 && i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) ++bound[i];
  }
  return bound;
}

TEST(ProcessorPace, HasOneThreadOnEachOfTheCallersProcessors) {
  const cpu_set_t own = processors_of(::pthread_self());
  ProcessorPace pace;
  pace.slowest_ns();  // Starts all threads.
  std::map<int, int> wanted;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &own)) wanted[i] = 1;
  EXPECT_EQ(bound_threads(), wanted);
  const cpu_set_t after = processors_of(::pthread_self());
  EXPECT_TRUE(CPU_EQUAL(&own, &after));
}

TEST(ProcessorPace, MeasuresAsOftenAsItIsAsked) {
  ProcessorPace pace;
  for (int probe = 0; probe < 20; ++probe) EXPECT_GT(pace.slowest_ns(), 0);
}

TEST(ProcessorPace, EndsItsThreadsWithoutEverBeingAsked) {
  { const ProcessorPace pace; }
  EXPECT_TRUE(bound_threads().empty());
}

}  // namespace
}  // namespace rooftile
