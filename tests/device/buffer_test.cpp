#include <bit>

#include "tests/support/test_device.h"

namespace rooftile {
namespace {

TEST(Buffer, HostSeesUploadsAndDownloads) {
  for (const BufferUse use : {BufferUse::kUpload, BufferUse::kDownload}) {
    const Buffer buffer = test_device().create_buffer(1003, use);
    EXPECT_EQ(buffer.size_bytes(), 1003u);
    ASSERT_NE(buffer.mapped(), nullptr);
    std::memset(buffer.mapped(), 0x5a, 1003);
    EXPECT_EQ(view<unsigned char>(buffer)[1002], 0x5a);
  }
}

// lavapipe compiles kernels anew for texel buffers of such sizes.
TEST(Buffer, TheDriverGetsNoSizeThatIsAPowerOfTwo) {
  for (const std::uint64_t bytes : {1024u, 4096u, 1u << 20u}) {
    const Buffer buffer = test_device().create_buffer(bytes, BufferUse::kDevice);
    EXPECT_EQ(buffer.size_bytes(), bytes);
    EXPECT_FALSE(std::has_single_bit(buffer.allocated_bytes())) << buffer.allocated_bytes();
    EXPECT_LT(buffer.allocated_bytes(), bytes + 4096);
  }
}

TEST(Buffer, KernelMemoryIsMappedExactlyWhereItIsUnified) {
  const Buffer buffer = test_device().create_buffer(4099, BufferUse::kDevice);
  EXPECT_EQ(buffer.mapped() != nullptr, test_device().profile().unified_memory);
}

TEST(Buffer, ImpossibleSizesAreErrorsWithNumbers) {
  Device& device = test_device();
  EXPECT_EQ(code_of([&] { device.create_buffer(0, BufferUse::kDevice); }),
            ErrorCode::kInvalidArgument);
  const std::uint64_t limit = device.profile().limits.max_memory_allocation_bytes;
  EXPECT_THAT(message_of([&] { device.create_buffer(limit + 1, BufferUse::kDevice); },
                         ErrorCode::kOutOfMemory),
              testing::HasSubstr(std::to_string(limit)));
  EXPECT_EQ(code_of([&] { device.create_buffer(~std::uint64_t{0}, BufferUse::kUpload); }),
            ErrorCode::kOutOfMemory);
}

TEST(Buffer, MovesAndOutlivesItsDevice) {
  Buffer kept;
  EXPECT_EQ(kept.size_bytes(), 0u);
  EXPECT_EQ(kept.mapped(), nullptr);
  {
    const auto device = Device::open(first_profile());
    kept = device->create_buffer(64, BufferUse::kUpload);
    // The assignment frees the first buffer.
    kept = device->create_buffer(128, BufferUse::kUpload);
    Buffer taken = std::move(kept);
    kept = std::move(taken);
  }
  EXPECT_EQ(kept.size_bytes(), 128u);
  view<unsigned char>(kept)[127] = 1;
}

}  // namespace
}  // namespace rooftile
