// Deterministic contexts leave out some kernels, do not measure calls, and give results that do
// not vary. compiling_test.cpp varies the host's thread count, since it starts processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/call_of.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

class DeterministicTest : public ::testing::Test {
 protected:
  Context context(Deterministic deterministic) const {
    return Context({.database = folder_ / "tuned.db",
                    .cache_folder = folder_ / "cache",
                    .deterministic = deterministic});
  }

  ScratchFolder folder_;
  DeviceProfile device_ = first_device();
};

TEST_F(DeterministicTest, KernelsThatAddAtomicallyAreLeftOut) {
  device_.limits.float32_atomic_add = true;  // The database says that the device has it.
  const Variant atomic = parse_variant(
      "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 split_k=3 reduction=atomic");
  write_test_database(folder_ / "tuned.db", device_, {atomic, fast_kernel(device_)});
  const auto kernel = [&](Deterministic deterministic, std::int64_t size) {
    return context(deterministic).explain({.problem = packed_problem(size, size, size)}).kernel;
  };
  for (const std::int64_t size : {64, 100}) {  // The first size is tuned, the second is not.
    EXPECT_EQ(kernel(Deterministic::kNo, size), short_name(atomic));
    EXPECT_EQ(kernel(Deterministic::kYes, size), short_name(fast_kernel(device_)));
  }
}

TEST_F(DeterministicTest, TheFirstCallWaitsForItsKernel) {
  write_test_database(folder_ / "tuned.db", device_, {fast_kernel(device_)}, {}, {}, slow_host());
  Context context = this->context(Deterministic::kYes);
  Product product(padded_problem(70, 50, 90, Transpose::kNo, Transpose::kNo));
  context.gemm(call_of(product));
  product.expect_right();
  EXPECT_EQ(context.last_answer()->tier, Tier::kDevice);
  EXPECT_EQ(context.last_answer()->reason, Reason::kPredicted);
}

TEST_F(DeterministicTest, TheHostIsPredictedAsItRuns) {
  write_test_database(folder_ / "tuned.db", device_, {fast_kernel(device_)});
  const Problem p = packed_problem(30, 40, 50);
  const Decision usual = context(Deterministic::kNo).decide(p),
                 fixed = context(Deterministic::kYes).decide(p);
  ASSERT_NE(usual.host_ns, usual.host1_ns);
  EXPECT_EQ(fixed.host_ns, usual.host1_ns);
}

TEST_F(DeterministicTest, ThreadsGetTheSameBits) {
  Context context = this->context(Deterministic::kYes);
  const Problem p = padded_problem(401, 301, 203, Transpose::kNo, Transpose::kYes);
  const auto compute = [&] {
    Product product(p);
    context.gemm(call_of(product, TierChoice::kHost));
    return product.c;
  };
  const std::vector<float> alone = compute();
  std::vector<std::vector<float>> together(4);
  std::vector<std::thread> team;
  for (std::vector<float>& c : together) team.emplace_back([&] { c = compute(); });
  for (std::thread& thread : team) thread.join();
  for (const std::vector<float>& c : together)
    EXPECT_EQ(std::memcmp(c.data(), alone.data(), c.size() * sizeof(float)), 0);
}

TEST_F(DeterministicTest, TheEnvironmentTurnsItOnAndIsChecked) {
  write_test_database(folder_ / "tuned.db", device_, {fast_kernel(device_)});
  const Problem p = packed_problem(30, 40, 50);
  const auto one_thread = [&] {
    const Decision d = Context({.database = folder_ / "tuned.db"}).decide(p);
    return d.host_ns == d.host1_ns;
  };
  EXPECT_FALSE(one_thread());
  {
    const ScopedEnvironment on("ROOFTILE_DETERMINISTIC", "1");
    EXPECT_TRUE(one_thread());
  }
  const ScopedEnvironment odd("ROOFTILE_DETERMINISTIC", "yes");
  EXPECT_THAT(message_of([&] { one_thread(); }, ErrorCode::kInvalidArgument),
              testing::HasSubstr("ROOFTILE_DETERMINISTIC is 'yes'"));
}

}  // namespace
}  // namespace rooftile
