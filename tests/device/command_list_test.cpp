#include <numeric>

#include "tests/support/test_device.h"

namespace rooftile {
namespace {

constexpr std::uint32_t kCount = 1003;  // not a multiple of the workgroup size
constexpr std::uint64_t kBytes = kCount * sizeof(float);
constexpr float kCanary = -77.25f;

class CommandListTest : public testing::Test {
 protected:
  CommandListTest() {
    std::iota(view<float>(x_).begin(), view<float>(x_).end(), 1.0f);
    std::fill(view<float>(y_).begin(), view<float>(y_).end(), kCanary);
  }
  void run(std::span<const Step> steps) {
    CommandList list = device_.record(steps);
    device_.run(list, kPatience_ns);
  }

  Device& device_ = test_device();
  Affine affine_{device_};
  Buffer x_ = device_.create_buffer(kBytes, BufferUse::kUpload);
  Buffer y_ = device_.create_buffer(kBytes, BufferUse::kDownload);
};

TEST_F(CommandListTest, StorageBindingsAndPushConstants) {
  constexpr std::uint32_t kComputed = kCount - 5;
  run(std::vector<Step>{affine_.step({&x_}, {&y_}, {.n = kComputed, .factor = 2.5f})});
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const float expected =
        i < kComputed ? static_cast<float>(i + 1) * 2.5f + static_cast<float>(i) : kCanary;
    ASSERT_EQ(view<float>(y_)[i], expected) << i;
  }
}

TEST_F(CommandListTest, OffsetsSelectAWindow) {
  const std::uint64_t offset = 2 * device_.profile().limits.storage_buffer_alignment_bytes;
  const std::uint32_t skipped = static_cast<std::uint32_t>(offset / sizeof(float)), n = 37;
  run(std::vector<Step>{
      affine_.step({.buffer = &x_, .offset_bytes = offset, .size_bytes = n * sizeof(float)},
                   {.buffer = &y_, .offset_bytes = offset}, {.n = n, .factor = 1.0f})});
  const auto y = view<float>(y_);
  EXPECT_EQ(y[skipped - 1], kCanary);
  EXPECT_EQ(y[skipped + n], kCanary);
  for (std::uint32_t i = 0; i < n; ++i)
    ASSERT_EQ(y[skipped + i], static_cast<float>(skipped + i + 1 + i)) << i;
}

TEST_F(CommandListTest, TexelBindingsOfBothFormats) {
  const Pipeline pipeline =
      device_.create_pipeline(compile_shader(R"(
          layout(local_size_x = 8) in;
          layout(binding = 0) uniform samplerBuffer one;
          layout(binding = 1) uniform samplerBuffer four;
          layout(binding = 2) writeonly buffer Y { float y[]; };
          void main() {
            int i = int(gl_GlobalInvocationID.x);
            vec4 f = texelFetch(four, i / 4);
            if (i < y.length()) y[i] = texelFetch(one, i).x + 1000.0 * f[i % 4];
          })"),
                              {.bindings = {BindingKind::kTexelR32, BindingKind::kTexelRgba32,
                                            BindingKind::kStorageBuffer}});
  const std::uint64_t offset = 4 * device_.profile().limits.texel_buffer_alignment_bytes;
  const std::uint32_t n = 204, skipped = static_cast<std::uint32_t>(offset / sizeof(float));
  run(std::vector<Step>{DispatchStep{
      .pipeline = &pipeline,
      .bindings = {{.buffer = &x_},  //
                   {.buffer = &x_, .offset_bytes = offset, .size_bytes = n * sizeof(float)},
                   {.buffer = &y_, .size_bytes = n * sizeof(float)}},
      .groups = {(n + 7) / 8, 1, 1}}});
  for (std::uint32_t i = 0; i < n; ++i) {
    ASSERT_EQ(view<float>(y_)[i],
              static_cast<float>(i + 1) + 1000.0f * static_cast<float>(skipped + i + 1))
        << i;
  }
  EXPECT_EQ(view<float>(y_)[n], kCanary);
}

TEST_F(CommandListTest, CopiesMoveExactlyTheirRange) {
  const Buffer middle = device_.create_buffer(kBytes, BufferUse::kDevice);
  run(std::vector<Step>{
      CopyStep{.source = {&x_}, .target = {&middle}}, BarrierStep{},
      CopyStep{.source = {.buffer = &middle, .offset_bytes = 40, .size_bytes = 404},
               .target = {.buffer = &y_, .offset_bytes = 12, .size_bytes = 404}}});
  const auto y = view<float>(y_);
  EXPECT_EQ(y[2], kCanary);
  for (std::uint32_t i = 0; i < 101; ++i) ASSERT_EQ(y[3 + i], static_cast<float>(11 + i)) << i;
  EXPECT_EQ(y[104], kCanary);
}

// Each step reads what another workgroup wrote in the step before. The validation layer reports a
// missing barrier even where the device happens to run in order.
TEST_F(CommandListTest, BarriersOrderAChainOfSteps) {
  const Pipeline rotate = device_.create_pipeline(
      compile_shader(R"(
          layout(local_size_x = 16) in;
          layout(binding = 0) readonly buffer X { float x[]; };
          layout(binding = 1) writeonly buffer Y { float y[]; };
          void main() {
            uint i = gl_GlobalInvocationID.x, n = x.length();
            if (i < n) y[i] = x[(i + 100) % n] + 1.0;
          })"),
      {.bindings = {BindingKind::kStorageBuffer, BindingKind::kStorageBuffer}});
  const Buffer a = device_.create_buffer(kBytes, BufferUse::kDevice),
               b = device_.create_buffer(kBytes, BufferUse::kDevice);
  std::vector<Step> steps = {CopyStep{.source = {&x_}, .target = {&a}}};
  constexpr std::uint32_t kRounds = 10;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const bool even = round % 2 == 0;
    steps.emplace_back(BarrierStep{});
    steps.emplace_back(DispatchStep{.pipeline = &rotate,
                                    .bindings = {{even ? &a : &b}, {even ? &b : &a}},
                                    .groups = {(kCount + 15) / 16, 1, 1}});
  }
  steps.emplace_back(BarrierStep{});
  steps.emplace_back(CopyStep{.source = {&a}, .target = {&y_}});
  run(steps);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(view<float>(y_)[i], static_cast<float>((i + 100 * kRounds) % kCount + 1 + kRounds))
        << i;
  }
}

TEST_F(CommandListTest, AListCanRunAgainOnNewData) {
  CommandList list =
      device_.record(std::vector<Step>{affine_.step({&x_}, {&y_}, {.n = kCount, .factor = 1.0f})});
  for (const float first : {1.0f, 50.0f, -3.0f}) {
    view<float>(x_)[0] = first;
    const RunResult result = device_.run(list, kPatience_ns);
    EXPECT_EQ(view<float>(y_)[0], first);
    EXPECT_GT(result.wall_ns, 0.0);
    EXPECT_TRUE(result.step_ns.empty());
  }
}

TEST_F(CommandListTest, AnEmptyListRuns) {
  CommandList list = device_.record({});
  EXPECT_NO_THROW(device_.run(list, kPatience_ns));
  CommandList none;
  EXPECT_EQ(code_of([&] { device_.run(none, kPatience_ns); }), ErrorCode::kInvalidArgument);
  for (const double timeout_ns : {0.0, -1.0, std::nan("")}) {
    EXPECT_EQ(code_of([&] { device_.run(list, timeout_ns); }), ErrorCode::kInvalidArgument)
        << timeout_ns;
  }
}

TEST_F(CommandListTest, WrongStepsAreRefusedBeforeAnythingRuns) {
  const DispatchStep good = affine_.step({&x_}, {&y_}, {.n = kCount, .factor = 1.0f});
  const auto code = [&](auto change) {
    DispatchStep step = good;
    change(step);
    return code_of([&] { device_.record(std::vector<Step>{BarrierStep{}, step}); });
  };
  EXPECT_EQ(code([](DispatchStep& s) { s.pipeline = nullptr; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](DispatchStep& s) { s.bindings.pop_back(); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](DispatchStep& s) { s.bindings[1].buffer = nullptr; }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](DispatchStep& s) { s.bindings[0].size_bytes = kBytes + 1; }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](DispatchStep& s) { s.push_constants.pop_back(); }),
            ErrorCode::kInvalidArgument);
  const auto& most = device_.profile().limits.max_workgroup_count;
  if (most[1] != ~0u) {
    EXPECT_EQ(code([&](DispatchStep& s) { s.groups[1] = most[1] + 1; }), ErrorCode::kUnsupported);
  }

  const auto copy = [&](BufferRange source, BufferRange target) {
    return code_of(
        [&] { device_.record(std::vector<Step>{CopyStep{.source = source, .target = target}}); });
  };
  EXPECT_EQ(copy({&x_, 0, 8}, {&y_, 0, 12}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(copy({&x_, 0, 8}, {&x_, 4, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(copy({&x_, 0, 8}, {&x_, 8, 8}), ErrorCode::kInternal)
      << "adjacent ranges do not overlap";
}

TEST_F(CommandListTest, AnotherDevicesObjectsAreRefused) {
  const auto other = Device::open(first_profile());
  const Buffer foreign = other->create_buffer(kBytes, BufferUse::kUpload);
  const std::vector<Step> steps = {affine_.step({&foreign}, {&y_}, {.n = kCount, .factor = 1.0f})};
  EXPECT_EQ(code_of([&] { device_.record(steps); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([&] { other->record(steps); }), ErrorCode::kInvalidArgument);
  CommandList list = other->record({});
  EXPECT_EQ(code_of([&] { device_.run(list, kPatience_ns); }), ErrorCode::kInvalidArgument);
}

TEST_F(CommandListTest, TheStepIsNamedInTheError) {
  const auto record = [&] { device_.record(std::vector<Step>{BarrierStep{}, DispatchStep{}}); };
  EXPECT_THAT(message_of(record), testing::StartsWith("step 1: "));
}

}  // namespace
}  // namespace rooftile
