#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/support/forked_threads.h"
#include "tests/support/test_device.h"

namespace rooftile {
namespace {

/// Returns 0, or the number of the first check that failed.
int behave_as_a_forked_child(Device& device, CommandList& list, Buffer& buffer) {
  const Enumeration enumeration = enumerate_devices();
  if (!enumeration.devices.empty() || enumeration.note.find("forked") == std::string::npos)
    return 1;
  if (code_of([&] { Device::open(device.profile()); }) != ErrorCode::kDevice) return 2;
  if (code_of([&] { device.run(list, kPatience_ns); }) != ErrorCode::kDevice) return 3;
  if (code_of([&] { device.create_buffer(64, BufferUse::kUpload); }) != ErrorCode::kDevice)
    return 4;
  if (code_of([&] { device.record({}); }) != ErrorCode::kDevice) return 5;
  buffer = Buffer();
  list = CommandList();
  return 0;
}

TEST(Fork, TheChildGetsAnErrorInsteadOfHanging) {
  auto device = Device::open(first_profile());
  Buffer buffer = device->create_buffer(64, BufferUse::kUpload);
  CommandList list = device->record({});
  device->run(list, kPatience_ns);

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // turns a hang into a failure
    const int broken = behave_as_a_forked_child(*device, list, buffer);
    device.reset();
    std::_Exit(broken);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_NO_THROW(device->run(list, kPatience_ns)) << "the parent's device still works";
}

// Mesa's exit handlers join its threads, which exist only in the parent. Where the child has
// started threads that reuse their memory, as a BLAS does, the handlers would wait for those.
TEST(Fork, TheChildMayExit) {
  // Compiles a shader, so that the driver's threads have had work.
  Device& device = test_device();
  const Affine affine(device);
  const Buffer x = device.create_buffer(64, BufferUse::kUpload);
  const Buffer y = device.create_buffer(64, BufferUse::kDownload);
  CommandList list =
      device.record(std::vector<Step>{affine.step({&x}, {&y}, {.n = 16, .factor = 2})});
  device.run(list, kPatience_ns);
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::FILE* const stream = ::fdopen(ends[1], "w");
  ASSERT_NE(stream, nullptr);

  std::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);             // turns a hang into a failure
#ifndef __SANITIZE_THREAD__  // ThreadSanitizer ends a child whose threads reuse their parent's ids.
    for (int i = 0; i < 32; ++i) std::thread(::pause).detach();
#endif
    static std::FILE* to_parent = stream;
    std::atexit([] { std::fputs("the child's own handler", to_parent); });
    std::exit(7);
  }
  std::fclose(stream);
  std::array<char, 64> said = {};
  EXPECT_GT(::read(ends[0], said.data(), said.size() - 1), 0);
  EXPECT_STREQ(said.data(), "the child's own handler");
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

/// Lets a child exit that is forked this long after another thread began to open a device, and ends
/// with the child's status.
[[noreturn]] void exit_after(std::chrono::milliseconds delay) {
  std::thread opener([] {
    load_drivers();
    Device::open(enumerate_devices().devices.at(0));
  });
  std::this_thread::sleep_for(delay);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);  // turns a hang into a failure
    std::exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  opener.join();
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// The loader's exit handler takes a lock that the opening thread holds. Each delay is tried in a
// process of its own, which has not loaded drivers.
TEST(ForkDeathTest, AChildOfTheOpeningMayExit) {
  SKIP_WITH_THREAD_SANITIZER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int delay_ms : {0, 3, 6, 10, 15, 20, 30, 40, 60, 80})
    ASSERT_EXIT(exit_after(std::chrono::milliseconds(delay_ms)), testing::ExitedWithCode(7), "")
        << delay_ms;
}

}  // namespace
}  // namespace rooftile
