// The loop of numpy.matmul, as NumPy calls it: what it computes, what it leaves to NumPy, and that
// its setting may be changed while it runs.
#include <gtest/gtest.h>
#include <rooftile/numpy.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "../support/opened.h"

namespace {

std::atomic<int> g_originals = 0;

/// Stands for NumPy's loop.
void original_loop(char** args, const intptr_t* sizes, const intptr_t* strides, void*) {
  ++g_originals;
  const intptr_t* steps = strides + 3;
  for (intptr_t at = 0; at < sizes[0]; ++at)
    for (intptr_t i = 0; i < sizes[1]; ++i)
      for (intptr_t j = 0; j < sizes[3]; ++j) {
        float sum = 0;
        for (intptr_t l = 0; l < sizes[2]; ++l)
          sum +=
              *reinterpret_cast<float*>(args[0] + at * strides[0] + i * steps[0] + l * steps[1]) *
              *reinterpret_cast<float*>(args[1] + at * strides[1] + l * steps[2] + j * steps[3]);
        *reinterpret_cast<float*>(args[2] + at * strides[2] + i * steps[4] + j * steps[5]) = sum;
      }
}

/// Two products of a stack, of small whole numbers, so that every order of the sums is exact.
struct Stack {
  static constexpr intptr_t kM = 7, kK = 5, kN = 3, kLd = 11;
  std::vector<float> a = std::vector<float>(2 * kM * kLd), b = std::vector<float>(kN * kK),
                     c = std::vector<float>(2 * kM * kLd, -1);
  std::array<intptr_t, 4> sizes = {2, kM, kK, kN};
  // b is stored by columns and shared, the rows of a and c have gaps.
  std::array<intptr_t, 9> strides = {4 * kM * kLd, 0, 4 * kM* kLd, 4 * kLd, 4, 4, 4 * kK,
                                     4 * kLd,      4};

  Stack() {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  }

  void multiply(rooftile_numpy_loop loop) {
    std::array<char*, 3> args = {reinterpret_cast<char*>(a.data()),
                                 reinterpret_cast<char*>(b.data()),
                                 reinterpret_cast<char*>(c.data())};
    loop(args.data(), sizes.data(), strides.data(), nullptr);
  }
};

std::vector<float> expected() {
  Stack stack;
  stack.multiply(&original_loop);
  return stack.c;
}

struct Counts {
  int64_t products = 0, calls = 0;
};

Counts route(rooftile_context* context, int64_t least) {
  const rooftile_numpy_args args = {sizeof args, &original_loop, context, least};
  Counts counts;
  EXPECT_EQ(rooftile_numpy_route(&args, &counts.products, &counts.calls), ROOFTILE_OK)
      << rooftile_last_error();
  return counts;
}

class NumpyRoute : public ::testing::Test {
 protected:
  void SetUp() override {
    context_ = rooftile::opened("/nonexistent/none.db", {.tier = ROOFTILE_TIER_HOST});
  }
  void TearDown() override {
    route(nullptr, 0);
    rooftile_close(context_);
  }
  rooftile_context* context_ = nullptr;
};

TEST_F(NumpyRoute, LargeProductsAreComputedHereAndOthersByNumpy) {
  const std::vector<float> exact = expected();
  constexpr int64_t kWork = Stack::kM * Stack::kK * Stack::kN;
  for (const bool large : {true, false}) {
    const Counts before = route(context_, large ? kWork : kWork + 1);
    const int originals = g_originals;
    Stack stack;
    stack.multiply(&rooftile_numpy_matmul);
    EXPECT_EQ(stack.c, exact);
    const Counts after = route(nullptr, 0);
    EXPECT_EQ(after.products - before.products, large ? 2 : 0);
    EXPECT_EQ(after.calls - before.calls, 1);
    EXPECT_EQ(g_originals - originals, large ? 0 : 1);
  }
}

TEST_F(NumpyRoute, StridesThatNoLeadingDimensionSaysAndOwnTransposesAreNumpys) {
  route(context_, 1);
  const int originals = g_originals;
  Stack reversed;
  reversed.strides[3] = -4 * Stack::kLd;
  std::array<char*, 3> args = {reinterpret_cast<char*>(&reversed.a[(Stack::kM - 1) * Stack::kLd]),
                               reinterpret_cast<char*>(reversed.b.data()),
                               reinterpret_cast<char*>(reversed.c.data())};
  rooftile_numpy_matmul(args.data(), reversed.sizes.data(), reversed.strides.data(), nullptr);
  EXPECT_EQ(g_originals - originals, 1);
  Stack own;
  own.sizes = {1, Stack::kM, Stack::kK, Stack::kM};
  own.strides = {0, 0, 0, 4 * Stack::kLd, 4, 4, 4 * Stack::kLd, 4 * Stack::kLd, 4};
  args = {reinterpret_cast<char*>(own.a.data()), reinterpret_cast<char*>(own.a.data()),
          reinterpret_cast<char*>(own.c.data())};
  rooftile_numpy_matmul(args.data(), own.sizes.data(), own.strides.data(), nullptr);
  EXPECT_EQ(g_originals - originals, 2);
}

TEST_F(NumpyRoute, TheSettingMayChangeWhileThreadsMultiply) {
  const std::vector<float> exact = expected();
  route(nullptr, 0);
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        Stack stack;
        stack.multiply(&rooftile_numpy_matmul);
        wrong += stack.c != exact ? 1 : 0;
      }
    });
  const int64_t before = route(nullptr, 0).products;
  for (int64_t done = 0; done < 200;) {
    rooftile_context* const own =
        rooftile::opened("/nonexistent/none.db", {.tier = ROOFTILE_TIER_HOST});
    route(own, 1);
    std::this_thread::yield();
    done = route(nullptr, 0).products - before;
    rooftile_close(own);  // No loop uses it any more.
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(NumpyRoute, BadSettingsAreRefused) {
  rooftile_numpy_args args = {sizeof args, nullptr, context_, 1};
  EXPECT_EQ(rooftile_numpy_route(&args, nullptr, nullptr), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_STREQ(rooftile_last_error(), "args->original is null");
  args = {sizeof args, &original_loop, context_, -1};
  EXPECT_EQ(rooftile_numpy_route(&args, nullptr, nullptr), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rooftile_numpy_route(nullptr, nullptr, nullptr), ROOFTILE_OK);
}

}  // namespace
