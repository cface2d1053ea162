#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "test_device.h"

namespace rooftile {
namespace {

/// 0 when everything is as promised, else the number of the first broken promise.
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

TEST(Fork, TheChildIsToldInsteadOfHanging) {
  auto device = Device::open(first_profile());
  Buffer buffer = device->create_buffer(64, BufferUse::kUpload);
  CommandList list = device->record({});
  device->run(list, kPatience_ns);

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // a hang becomes a failure
    const int broken = behave_as_a_forked_child(*device, list, buffer);
    device.reset();
    std::_Exit(broken);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_NO_THROW(device->run(list, kPatience_ns)) << "the parent goes on";
}

}  // namespace
}  // namespace rooftile
