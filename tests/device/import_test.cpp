// Host memory that is bound as a buffer's memory without a copy.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "tests/support/test_device.h"

namespace rooftile {
namespace {

class Import : public testing::Test {
 protected:
  void SetUp() override {
    if (alignment_ == 0) GTEST_SKIP() << "no VK_EXT_external_memory_host";
  }

  std::uint64_t alignment_ = test_device().profile().limits.host_import_alignment_bytes;
  const std::uint64_t bytes_ = 3 * alignment_;
  const std::unique_ptr<float, decltype(&std::free)> memory_{
      static_cast<float*>(std::aligned_alloc(std::max<std::uint64_t>(alignment_, 1), bytes_)),
      &std::free};
};

TEST_F(Import, KernelsReadAndWriteTheCallersMemory) {
  Device& device = test_device();
  const auto count = static_cast<std::uint32_t>(bytes_ / sizeof(float));
  for (std::uint32_t i = 0; i < count; ++i) memory_.get()[i] = static_cast<float>(i % 97);
  const Buffer imported = device.import_host(memory_.get(), bytes_);
  EXPECT_EQ(imported.mapped(), memory_.get());
  EXPECT_EQ(imported.size_bytes(), bytes_);
  const Buffer doubled = device.create_buffer(bytes_, BufferUse::kDownload);
  const Affine affine(device);
  CommandList list =
      device.record(std::vector<Step>{affine.step({&imported}, {&doubled}, {count, 2.0f}),
                                      BarrierStep{}, CopyStep{{&doubled}, {&imported}}});
  device.run(list, kPatience_ns);
  for (std::uint32_t i = 0; i < count; i += 131)
    EXPECT_EQ(memory_.get()[i], 2.0f * static_cast<float>(i % 97) + static_cast<float>(i));
}

/// Waits for a device that was given up while its work uses host memory, and checks that the work
/// is finished then. Returns 0, or the number of the first check that failed.
int outlast_a_given_up_device(float* memory, std::uint64_t bytes) {
  const auto device = Device::open(first_profile());
  const auto count = static_cast<std::uint32_t>(bytes / sizeof(float));
  std::fill_n(memory, count, 0.0f);
  const Buffer imported = device->import_host(memory, bytes);
  const Affine affine(*device);
  constexpr int kTimes = 3000;  // takes tens of milliseconds
  std::vector<Step> steps;
  for (int i = 0; i < kTimes; ++i) {
    steps.emplace_back(affine.step({&imported}, {&imported}, {count, 1.0f}));
    steps.emplace_back(BarrierStep{});
  }
  CommandList list = device->record(steps);
  CommandList* const lists[] = {&list};
  const Submission submission = device->submit(lists);
  device->give_up();
  if (code_of([&] { submission.wait(kPatience_ns); }) != ErrorCode::kDevice) return 1;
  submission.outlast();
  for (std::uint32_t i = 0; i < count; ++i)
    if (memory[i] != static_cast<float>(kTimes) * static_cast<float>(i)) return 2;
  return validation_messages().empty() ? 0 : 3;
}

using ImportDeathTest = Import;

// Runs in a process of its own, because a device that is given up leaks its objects.
TEST_F(ImportDeathTest, WorkOnATimedOutDeviceCanBeWaitedFor) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::_Exit(outlast_a_given_up_device(memory_.get(), bytes_)),
              testing::ExitedWithCode(0), "");
}

TEST_F(Import, TheMemoryOutlivesItsBuffer) {
  memory_.get()[1] = 5;
  { const Buffer imported = test_device().import_host(memory_.get(), bytes_); }
  EXPECT_EQ(memory_.get()[1], 5);
}

TEST_F(Import, UnalignedMemoryIsRefusedWithTheAlignment) {
  Device& device = test_device();
  for (const auto& [offset, size] :
       {std::pair(std::uint64_t{64}, alignment_), std::pair(std::uint64_t{0}, alignment_ + 64),
        std::pair(std::uint64_t{0}, std::uint64_t{0})}) {
    char* const memory = reinterpret_cast<char*>(memory_.get()) + offset;
    const std::uint64_t bytes = size;  // Clang 14 captures no structured binding.
    EXPECT_THAT(message_of([&] { device.import_host(memory, bytes); }, ErrorCode::kInvalidArgument),
                testing::HasSubstr(std::to_string(alignment_)))
        << offset << " " << bytes;
  }
}

}  // namespace
}  // namespace rooftile
