#include "runtime/support/copy_bytes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/support/forked_threads.h"

namespace rooftile {
namespace {

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 1u);
  return all;
}

/// The first test, so that the global lives longer than what the first copy makes.
TEST(CopyBytesTest, AProgramsLastDestructorsMayCopy) {
  const pid_t child = ::fork();
  if (child == 0) {
    static const struct Last {
      ~Last() {
        const std::vector<std::uint32_t> from = numbers(std::size_t{3} << 20);
        std::vector<std::uint32_t> to(from.size());
        copy_bytes(from.data(), to.data(), 4 * from.size());
        if (to != from) std::_Exit(1);
      }
    } last;
    std::vector<char> from(std::size_t{8} << 20, 1), to(from.size());
    for (int copy = 0; copy < 8; ++copy) copy_bytes(from.data(), to.data(), from.size());
    ::alarm(20);
    std::exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

/// Around the length from which a copy is shared, and one that no number of threads divides.
TEST(CopyBytesTest, EveryLengthIsCopiedWholeAndNothingBehindIt) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, (std::size_t{4} << 20) - 1, std::size_t{4} << 20,
        (std::size_t{4} << 20) + 1, std::size_t{23456789}}) {
    const std::vector<std::uint32_t> from = numbers(bytes / 4 + 2);
    std::vector<std::uint32_t> to(from.size(), 0);
    copy_bytes(from.data(), to.data(), bytes);
    const auto* const expected = reinterpret_cast<const char*>(from.data());
    const auto* const got = reinterpret_cast<const char*>(to.data());
    EXPECT_TRUE(std::equal(expected, expected + bytes, got)) << bytes;
    EXPECT_EQ(std::count(got + bytes, got + 4 * to.size(), 0),
              static_cast<std::ptrdiff_t>(4 * to.size() - bytes))
        << bytes;
  }
}

TEST(CopyBytesTest, EachItemIsCopiedOnce) {
  constexpr std::int64_t kItems = 1000, kItemBytes = 100'003;
  std::vector<std::atomic<int>> copies(kItems);
  share_copies(kItems, kItemBytes, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++copies[static_cast<std::size_t>(i)];
  });
  for (const auto& times : copies) EXPECT_EQ(times, 1);
}

TEST(CopyBytesTest, CallsOfManyThreadsDoNotDisturbEachOther) {
  const std::vector<std::uint32_t> from = numbers(std::size_t{3} << 20);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int call = 0; call < 20; ++call) {
        std::vector<std::uint32_t> to(from.size());
        copy_bytes(from.data(), to.data(), 4 * from.size());
        wrong += to != from;
      }
    });
  callers.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(CopyBytesTest, AForkedChildCopiesAndEndsWithoutItsParentsThreads) {
  SKIP_WITH_THREAD_SANITIZER();
  const std::vector<std::uint32_t> from = numbers(std::size_t{3} << 20);
  std::vector<std::uint32_t> to(from.size());
  copy_bytes(from.data(), to.data(), 4 * from.size());
  const pid_t child = ::fork();
  if (child == 0) {
    std::fill(to.begin(), to.end(), 0);
    copy_bytes(from.data(), to.data(), 4 * from.size());
    std::exit(to == from ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace rooftile
