#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <limits>
#include <thread>

#include "tests/support/await.h"
#include "tests/support/blocked_threads.h"
#include "tests/support/test_device.h"

namespace rooftile {
namespace {

// Large enough for drivers that limit an invocation's loop trips.
constexpr std::uint32_t kLoopTrips = 60'000;
constexpr double kLimit_ns = 20e6;
constexpr std::uint32_t kTimesTooLong = 20;

/// The number of workgroups that takes about kLimit_ns on this device, found by doubling. It
/// bounds the overlong run on every device; on the software device the run ends by itself if it is
/// not stopped.
std::uint32_t groups_for_the_limit(Device& device, DispatchStep step) {
  const std::uint32_t most = device.profile().limits.max_workgroup_count[0];
  for (step.groups[0] = 8; step.groups[0] < most / 2; step.groups[0] *= 2) {
    CommandList list = device.record(std::vector<Step>{step});
    device.run(list, kPatience_ns);  // Drivers may compile at the first run.
    if (device.run(list, kPatience_ns).wall_ns > kLimit_ns) break;
  }
  return step.groups[0];
}

Pipeline spinning(Device& device) {
  return device.create_pipeline(
      compile_shader(R"(
          layout(local_size_x = 8) in;
          layout(binding = 0) buffer Y { uint y[]; };
          layout(push_constant) uniform Constants { uint n; };
          void main() {
            uint value = y[gl_LocalInvocationID.x];
            for (uint i = 0; i < n; ++i) value = value * 1664525u + (value >> 7) + i;
            y[gl_LocalInvocationID.x] = value;
          })"),
      {.bindings = {BindingKind::kStorageBuffer}, .push_constants_bytes = sizeof(std::uint32_t)});
}

/// Returns 0, or the number of the first check that failed.
int give_up_a_device() {
  auto device = Device::open(first_profile());
  const Pipeline spin = spinning(*device);
  Buffer y = device->create_buffer(8 * sizeof(std::uint32_t), BufferUse::kDownload);
  DispatchStep step = {
      .pipeline = &spin, .bindings = {{&y}}, .push_constants = bytes_of(kLoopTrips)};
  CommandList quick = device->record(std::vector<Step>{step});
  step.groups[0] = groups_for_the_limit(*device, step);
  CommandList slow = device->record(std::vector<Step>(kTimesTooLong, step));
  take_validation_messages();  // The repeated step has an intended data race.
  if (device->lost()) return 1;
  if (code_of([&] { device->run(slow, kLimit_ns); }) != ErrorCode::kTimeout) return 2;
  if (!device->lost()) return 3;
  if (code_of([&] { device->run(quick, kPatience_ns); }) != ErrorCode::kDevice) return 4;
  if (code_of([&] { device->create_buffer(64, BufferUse::kDevice); }) != ErrorCode::kDevice) {
    return 5;
  }
  device.reset();
  slow = CommandList();
  y = Buffer();
  return validation_messages().empty() ? 0 : 6;
}

/// The same check for threads that wait for seconds of work when another thread gives the device
/// up.
int give_up_a_device_that_is_waited_for() {
  const auto device = Device::open(first_profile());
  const Pipeline spin = spinning(*device);
  const Buffer y = device->create_buffer(8 * sizeof(std::uint32_t), BufferUse::kDownload);
  DispatchStep step = {
      .pipeline = &spin, .bindings = {{&y}}, .push_constants = bytes_of(kLoopTrips)};
  step.groups[0] = groups_for_the_limit(*device, step);
  // The work ends by itself, for threads that are not woken.
  constexpr std::uint32_t kSeconds = 3, kTimes = kSeconds * kSecond_ns / kLimit_ns;
  CommandList slow = device->record(std::vector<Step>(kTimes, step)),
              behind = device->record(std::vector<Step>{step});
  take_validation_messages();
  CommandList* const lists[] = {&slow};
  const Submission submission = device->submit(lists);
  std::array<std::atomic<pid_t>, 3> threads = {};
  const auto wait_in_thread = [&](std::size_t i, const auto& wait) {
    return std::async(std::launch::async, [&threads, i, wait] {
      threads[i] = ::gettid();
      return code_of(wait);
    });
  };
  auto waiting = wait_in_thread(0, [&] { submission.wait(60 * kSecond_ns); });
  auto for_ever =
      wait_in_thread(1, [&] { submission.wait(std::numeric_limits<double>::infinity()); });
  auto running = wait_in_thread(2, [&] { device->run(behind, 60 * kSecond_ns); });
  for (const std::atomic<pid_t>& thread : threads)
    if (!await("the thread has an id", [&] { return thread != 0; }) || !await_asleep(thread))
      return 6;
  if (!submission.under_way()) return 1;
  device->give_up();
  if (waiting.get() != ErrorCode::kDevice) return 2;
  if (for_ever.get() != ErrorCode::kDevice) return 3;
  if (running.get() != ErrorCode::kDevice) return 4;
  return submission.under_way() ? 0 : 5;
}

// Runs in a process of its own, which ends without waiting for the work. An alarm turns a hang
// into a failure.
TEST(TimeoutDeathTest, ATimedOutDeviceIsDestroyedWithoutWaiting) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::alarm(100);
        std::_Exit(give_up_a_device());
      },
      testing::ExitedWithCode(0), "");
}

TEST(TimeoutDeathTest, WaitsFailWhenAnotherThreadGivesTheDeviceUp) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::alarm(100);
        std::_Exit(give_up_a_device_that_is_waited_for());
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rooftile
