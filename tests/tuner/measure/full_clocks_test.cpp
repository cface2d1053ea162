#include "tuner/measure/full_clocks.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

/// A device whose gauge takes 6 ms until it was under load for 240 ms, and then 1 ms.
struct Device345MHz {
  double now_s = 0, gauge_ns = 1e6, raised_at_s = 0.24;
  int runs = 0;

  double take() {
    const double ns = now_s < raised_at_s ? 6 * gauge_ns : gauge_ns;
    now_s += ns * 1e-9;
    ++runs;
    return ns;
  }
  double raise(double best_ns) {
    return raised_to_ns(
        best_ns, FullClocks::kMostS, [this] { return take(); }, [this] { return now_s; });
  }
};

TEST(FullClocksTest, TheFirstLoadLastsUntilTheClocksMustBeUp) {
  Device345MHz device;
  EXPECT_EQ(device.raise(0), 1e6);
  EXPECT_GE(device.now_s, FullClocks::kMostS);
}

TEST(FullClocksTest, LoweredClocksAreRaised) {
  Device345MHz device;
  EXPECT_EQ(device.raise(1e6), 1e6);
  EXPECT_NEAR(device.now_s, device.raised_at_s, 10e-3);
}

TEST(FullClocksTest, AtFullClocksTheGaugeRunsOnce) {
  Device345MHz device{.raised_at_s = 0};
  EXPECT_EQ(device.raise(1e6), 1e6);
  EXPECT_EQ(device.runs, 1);
}

TEST(FullClocksTest, ADeviceThatBecameSlowerIsNotLoadedEachTime) {
  Device345MHz device{.gauge_ns = 2e6, .raised_at_s = 0};
  const double best_ns = device.raise(1e6);
  EXPECT_EQ(best_ns, 2e6);
  const int before = device.runs;
  EXPECT_EQ(device.raise(best_ns), 2e6);
  EXPECT_EQ(device.runs, before + 1);
}

TEST(FullClocksTest, ADeviceThatBecameFasterSetsTheNewBest) {
  Device345MHz device{.gauge_ns = 0.9e6, .raised_at_s = 0};
  EXPECT_EQ(device.raise(1e6), 0.9e6);
}

}  // namespace
}  // namespace rooftile
