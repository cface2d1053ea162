// Host memory bound as a buffer's without a copy.
#include <cstdlib>
#include <memory>

#include "test_device.h"

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

TEST_F(Import, TheMemoryOutlivesItsBuffer) {
  memory_.get()[1] = 5;
  { const Buffer imported = test_device().import_host(memory_.get(), bytes_); }
  EXPECT_EQ(memory_.get()[1], 5);
}

TEST_F(Import, UnalignedMemoryIsRefusedWithTheAlignment) {
  Device& device = test_device();
  for (const auto& [offset, bytes] :
       {std::pair(std::uint64_t{64}, alignment_), std::pair(std::uint64_t{0}, alignment_ + 64),
        std::pair(std::uint64_t{0}, std::uint64_t{0})}) {
    try {
      device.import_host(reinterpret_cast<char*>(memory_.get()) + offset, bytes);
      FAIL() << offset << " " << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(std::to_string(alignment_)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace rooftile
