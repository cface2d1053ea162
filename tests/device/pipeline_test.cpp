#include "tests/support/test_device.h"

namespace rooftile {
namespace {

const char* const kSubgroupShader = R"(
    layout(local_size_x = 64) in;
    layout(binding = 0) writeonly buffer Y { uint y[]; };
    void main() { y[gl_GlobalInvocationID.x] = gl_SubgroupSize; })";

TEST(Pipeline, WhatIsNotSpirvIsACompileError) {
  Device& device = test_device();
  EXPECT_EQ(code_of([&] { device.create_pipeline({}, {}); }), ErrorCode::kCompile);
  EXPECT_EQ(
      code_of([&] { device.create_pipeline(std::vector<std::uint32_t>(100, 0xdeadbeef), {}); }),
      ErrorCode::kCompile);
  auto cut = compile_shader(kSubgroupShader);
  cut.resize(cut.size() / 2);
  EXPECT_EQ(
      code_of([&] { device.create_pipeline(cut, {.bindings = {BindingKind::kStorageBuffer}}); }),
      ErrorCode::kCompile);
}

TEST(Pipeline, TheDevicesSubgroupSizeCanBeAskedFor) {
  Device& device = test_device();
  const std::uint32_t size = device.profile().limits.subgroup_size;
  const Pipeline pipeline =
      device.create_pipeline(compile_shader(kSubgroupShader),
                             {.bindings = {BindingKind::kStorageBuffer}, .subgroup_size = size});
  EXPECT_EQ(pipeline.interface().subgroup_size, size);
  const Buffer y = device.create_buffer(64 * sizeof(std::uint32_t), BufferUse::kDownload);
  CommandList list =
      device.record(std::vector<Step>{DispatchStep{.pipeline = &pipeline, .bindings = {{&y}}}});
  device.run(list, kPatience_ns);
  for (const std::uint32_t seen : view<std::uint32_t>(y)) ASSERT_EQ(seen, size);
}

TEST(Pipeline, SubgroupSizesThatTheDeviceLacksAreUnsupported) {
  Device& device = test_device();
  const DeviceLimits& limits = device.profile().limits;
  const auto spirv = compile_shader(kSubgroupShader);
  for (const std::uint32_t size : {limits.max_subgroup_size * 2, limits.max_subgroup_size - 1}) {
    EXPECT_EQ(code_of([&] {
                device.create_pipeline(
                    spirv, {.bindings = {BindingKind::kStorageBuffer}, .subgroup_size = size});
              }),
              ErrorCode::kUnsupported)
        << size;
  }
}

TEST(Pipeline, InterfacesAndWorkgroupsAboveTheLimitsAreRefused) {
  Device& device = test_device();
  const DeviceLimits& limits = device.profile().limits;
  const auto spirv = compile_shader(kSubgroupShader);
  const auto code = [&](const ShaderInterface& interface) {
    return code_of([&] { device.create_pipeline(spirv, interface); });
  };
  EXPECT_EQ(code({.bindings = {BindingKind::kStorageBuffer}, .push_constants_bytes = 6}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.bindings = {BindingKind::kStorageBuffer},
                  .push_constants_bytes = limits.max_push_constants_bytes + 4}),
            ErrorCode::kUnsupported);
  const auto wide =
      compile_shader("layout(local_size_x = " + std::to_string(limits.max_workgroup_invocations) +
                     ", local_size_y = 2) in; void main() {}");
  EXPECT_EQ(code_of([&] { device.create_pipeline(wide, {}); }), ErrorCode::kUnsupported);
}

TEST(Pipeline, WithoutBindingsRuns) {
  Device& device = test_device();
  const Pipeline pipeline =
      device.create_pipeline(compile_shader("layout(local_size_x = 3) in; void main() {}"), {});
  CommandList list =
      device.record(std::vector<Step>{DispatchStep{.pipeline = &pipeline, .groups = {2, 3, 5}}});
  EXPECT_NO_THROW(device.run(list, kPatience_ns));
}

}  // namespace
}  // namespace rooftile
