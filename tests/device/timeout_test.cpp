#include <cstdlib>

#include "test_device.h"

namespace rooftile {
namespace {

// Bounded: seconds at most on a slow software device, so that nothing lingers if the process
// survives.
constexpr std::uint32_t kIterations = 300'000'000;
constexpr double kShort_ns = 20e6;

/// 0 when everything is as promised, else the number of the first broken promise.
int give_up_a_device() {
  auto device = Device::open(first_profile());
  const Pipeline spin = device->create_pipeline(
      compile_shader(R"(
          layout(local_size_x = 8) in;
          layout(binding = 0) buffer Y { uint y[]; };
          layout(push_constant) uniform Constants { uint n; };
          void main() {
            uint value = y[gl_LocalInvocationID.x];
            for (uint i = 0; i < n; ++i) value = value * 1664525u + (value >> 7);
            y[gl_LocalInvocationID.x] = value;
          })"),
      {.bindings = {BindingKind::kStorageBuffer}, .push_constants_bytes = sizeof(std::uint32_t)});
  Buffer y = device->create_buffer(8 * sizeof(std::uint32_t), BufferUse::kDownload);
  const auto spin_for = [&](std::uint32_t n) {
    return device->record(std::vector<Step>{DispatchStep{.pipeline = &spin,
                                                         .bindings = {{&y}},
                                                         .push_constants = bytes_of(n),
                                                         .groups = {64, 1, 1}}});
  };
  CommandList quick = spin_for(1), slow = spin_for(kIterations);
  device->run(quick, kPatience_ns);  // compiled here, where that is done at the first run
  if (device->lost()) return 1;
  if (code_of([&] { device->run(slow, kShort_ns); }) != ErrorCode::kTimeout) return 2;
  if (!device->lost()) return 3;
  if (code_of([&] { device->run(quick, kPatience_ns); }) != ErrorCode::kDevice) return 4;
  if (code_of([&] { device->create_buffer(64, BufferUse::kDevice); }) != ErrorCode::kDevice)
    return 5;
  device.reset();
  slow = CommandList();
  y = Buffer();
  return validation_messages().empty() ? 0 : 6;
}

// In a process of its own, which ends without waiting for the work. An alarm turns a hang into a
// failure.
TEST(TimeoutDeathTest, GivesTheDeviceUpAndDestructionReturns) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::alarm(100);
        std::_Exit(give_up_a_device());
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rooftile
