// Staging buffers are reused, and their total size is bounded.
#include "runtime/kernel/staging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/numbers/random.h"
#include "tests/support/first_device.h"

namespace rooftile {
namespace {

class StagingPool : public ::testing::Test {
 protected:
  void SetUp() override { pool_ = std::make_unique<BufferPool>(Device::open(first_device())); }
  /// Acquires and releases buffers like a call: some at the same time, then none.
  void call(const std::vector<std::uint64_t>& sizes) {
    std::vector<std::unique_ptr<PooledBuffer>> buffers;
    for (const std::uint64_t bytes : sizes) {
      buffers.push_back(std::make_unique<PooledBuffer>(*pool_, bytes, BufferUse::kDevice));
      EXPECT_GE((*buffers.back())->size_bytes(), bytes);
      EXPECT_LE(pool_->bytes(), 2 * pool_->most_bytes());
    }
  }
  std::unique_ptr<BufferPool> pool_;
};

TEST_F(StagingPool, CallsOfOneSizeUseTheSameBuffers) {
  call({100'000, 50'000});
  const std::uint64_t held = pool_->bytes();
  EXPECT_EQ(held, (1u << 17) + (1u << 16));
  for (int i = 0; i < 20; ++i) call({70'000, 33'000});  // These have the same size classes.
  EXPECT_EQ(pool_->bytes(), held);
  EXPECT_EQ(pool_->most_bytes(), held);
}

TEST_F(StagingPool, CallsOfManySizesStayWithinTwiceTheLargest) {
  Random random(1);
  std::uint64_t largest = 0;
  for (int i = 0; i < 200; ++i) {
    const auto size = [&] { return std::uint64_t{4096} << random.below(8); };
    const std::uint64_t a = size(), b = size(), c = size();
    largest = std::max(largest, a + b + c);
    call({a, b, c});
    EXPECT_EQ(pool_->most_bytes(), largest);
  }
  // Both calls find their buffers again: the pool keeps the buffers of half the size beside the
  // largest ones.
  call({1 << 19, 1 << 19, 1 << 19});
  call({1 << 18, 1 << 18, 1 << 18});
  const std::uint64_t held = pool_->bytes();
  call({1 << 19, 1 << 19, 1 << 19});
  call({1 << 18, 1 << 18, 1 << 18});
  EXPECT_EQ(pool_->bytes(), held);
}

TEST_F(StagingPool, DifferentSplitsOfTheSameBytesReuseBuffers) {
  constexpr std::uint64_t kBytes = 1 << 19;
  for (const std::size_t pieces : {1, 2, 4, 8, 16}) call(std::vector(pieces, kBytes / pieces));
  EXPECT_EQ(pool_->most_bytes(), kBytes);
}

TEST_F(StagingPool, TheLeastRecentlyUsedIsFreedFirst) {
  call({1 << 13});
  call({1 << 14});
  call({1 << 13});
  call({1 << 15});
  // 2^13 + 2^14 + 2^15 and two more 2^12 are 2^16, the bound. The third 2^12 replaces the 2^14.
  call({1 << 12, 1 << 12, 1 << 12, 1 << 15});
  EXPECT_EQ(pool_->bytes(), 3 * (1u << 12) + (1u << 13) + (1u << 15));
}

TEST_F(StagingPool, UnusedBuffersCanBeFreed) {
  call({1 << 20});
  const PooledBuffer held(*pool_, 1 << 16, BufferUse::kUpload);
  pool_->trim();
  EXPECT_EQ(pool_->bytes(), 1u << 16);
}

TEST_F(StagingPool, ThreadsShareIt) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const PooledBuffer buffer(*pool_, std::uint64_t{5000} << (i + t) % 4, BufferUse::kUpload);
        *static_cast<int*>(buffer->mapped()) = t;
        std::this_thread::yield();
        EXPECT_EQ(*static_cast<int*>(buffer->mapped()), t) << "the pool lent this buffer twice";
      }
    });
  threads.clear();
  EXPECT_LE(pool_->bytes(), 2 * pool_->most_bytes());
}

}  // namespace
}  // namespace rooftile
