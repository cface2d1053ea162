// Which host tier a product made again and again goes to: on simulated machines.
#include "runtime/host_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace rooftile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Calls whose time the tier decides, and the number of the call.
class Machine {
 public:
  using Time = std::function<double(Tier, int)>;
  Machine(HostTimes times, Time time) : times_(times), time_(std::move(time)) {}

  /// Of the calls of one thread's tier.
  int calls_of_one_thread(int calls) {
    int one = 0;
    for (int i = 0; i < calls; ++i) {
      const Tier tier = times_.next();
      one += tier == Tier::kHost1 ? 1 : 0;
      times_.took(time_(tier, call_++));
    }
    return one;
  }
  Tier next() const { return times_.next(); }

 private:
  HostTimes times_;
  Time time_;
  int call_ = 0;
};

Machine::Time steady(double host_ns, double host1_ns) {
  return [=](Tier tier, int) { return tier == Tier::kHost ? host_ns : host1_ns; };
}

TEST(HostTimes, AreOpenWhereThereIsAChoiceAndTimeToLook) {
  EXPECT_TRUE(HostTimes(1e5, 1.5e5).open());
  EXPECT_FALSE(HostTimes().open());
  EXPECT_FALSE(HostTimes(kInfinity, 1e5).open());
  EXPECT_FALSE(HostTimes(1e5, kInfinity).open());
  EXPECT_FALSE(HostTimes(800, 700).open()) << "two looks at the clock would be felt";
}

TEST(HostTimes, BeginWithWhatIsPredicted) {
  EXPECT_EQ(HostTimes(1e5, 1.5e5).next(), Tier::kHost);
  EXPECT_EQ(HostTimes(1.5e5, 1e5).next(), Tier::kHost1);
}

TEST(HostTimes, TrialsOfTheSlowerTierTakeAHundredthOfTheTime) {
  for (const double slower : {1.05, 1.5, 4.0}) {
    Machine all(HostTimes(1e5, slower * 1e5), steady(1e5, slower * 1e5));
    Machine one(HostTimes(slower * 1e5, 1e5), steady(slower * 1e5, 1e5));
    constexpr int kCalls = 20000;
    const int of_one = all.calls_of_one_thread(kCalls),
              of_all = kCalls - one.calls_of_one_thread(kCalls);
    // A trial costs 3 calls' loss, and that of a tenth of a call at least; it ends after 2 calls if
    // it is hopeless. The first ones come sooner.
    const double trials = 0.01 * kCalls / (3 * std::max(slower - 1, 0.1));
    const double most = (slower > 2 ? 2 : 3) * trials + 12;
    EXPECT_GT(of_one, 0);
    EXPECT_LE(of_one, most) << slower;
    EXPECT_GT(of_all, 0);
    EXPECT_LE(of_all, slower > 1.06 ? most : kCalls) << slower;
  }
}

TEST(HostTimes, ATierThatIsSlowerThanTheOtherIsPredictedIsLeftAfterTwoCalls) {
  Machine machine(HostTimes(1e5, 1.5e5), steady(4e5, 1.5e5));
  EXPECT_EQ(machine.calls_of_one_thread(2), 0);
  EXPECT_EQ(machine.next(), Tier::kHost1);
  EXPECT_GE(machine.calls_of_one_thread(1000), 980);
}

TEST(HostTimes, WhatIsFasterThanPredictedIsFound) {
  // Calibrated where processors were apart: all threads were predicted to be half as fast.
  Machine machine(HostTimes(2e5, 1.5e5), steady(1e5, 1.5e5));
  EXPECT_LE(machine.calls_of_one_thread(100), 20);
  EXPECT_LE(machine.calls_of_one_thread(1000), 30);
}

TEST(HostTimes, AChangeIsFollowedThereAndBack) {
  // All threads lose, and regain, their processor.
  Machine machine(HostTimes(1e5, 1.5e5), [](Tier tier, int call) {
    const bool crowded = call >= 1000 && call < 3000;
    return tier == Tier::kHost1 ? 1.5e5 : crowded ? 6e5 : 1e5;
  });
  EXPECT_LE(machine.calls_of_one_thread(1000), 40);
  EXPECT_GE(machine.calls_of_one_thread(2000), 1950);
  // A trial of what takes four times as long costs a hundredth every 3 * 3 / 0.01 calls.
  EXPECT_LE(machine.calls_of_one_thread(2000), 1000);
  EXPECT_LE(machine.calls_of_one_thread(1000), 40);
}

TEST(HostTimes, OneDisturbedCallChangesNothing) {
  // All threads, now and then without one of their processors.
  Machine machine(HostTimes(1e5, 1.5e5), [](Tier tier, int call) {
    return tier == Tier::kHost1 ? 1.5e5 : call % 7 == 0 ? 3e5 : 1e5;
  });
  // 7e5 ns in 5 calls of 1.3e5: a trial of 3 calls after 7.5e6 ns, and after twice that.
  EXPECT_EQ(machine.calls_of_one_thread(50), 0);
  EXPECT_LE(machine.calls_of_one_thread(1000), 30);
}

TEST(HostTimes, TwoDisturbedCallsAreForgivenSoon) {
  Machine machine(HostTimes(1e5, 1.5e5), [](Tier tier, int call) {
    return tier == Tier::kHost1 ? 1.5e5 : call < 2 ? 1.7e5 : 1e5;
  });
  machine.calls_of_one_thread(2);
  ASSERT_EQ(machine.next(), Tier::kHost1);
  EXPECT_LE(machine.calls_of_one_thread(14), 8);
}

TEST(HostTimes, AChoiceOfOneThreadIsCheckedSoon) {
  Machine machine(HostTimes(1.3e5, 1e5), steady(1e5, 1.3e5));
  EXPECT_LE(machine.calls_of_one_thread(31), 6);
  Machine right(HostTimes(1.3e5, 1e5), steady(1.3e5, 1e5));
  EXPECT_GE(right.calls_of_one_thread(31), 28);
}

// It wakes threads that sleep.
TEST(HostTimes, TheFirstCallAfterAnotherTiersIsNotCounted) {
  Tier last = Tier::kHost;
  int since = 0;  // that tier's first call
  Machine machine(HostTimes(1e5, 1.5e5), [&](Tier tier, int) {
    since = tier == last ? since + 1 : 0;
    last = tier;
    const double habits = since == 0 ? 1e6 : since == 1 && tier == Tier::kHost ? 4e5 : 0;
    return (tier == Tier::kHost ? 1e5 : 1.5e5) + habits;
  });
  // All threads have one disturbed call after each trial, not two.
  EXPECT_LE(machine.calls_of_one_thread(2000), 3 * 15);
}

TEST(HostTimes, ASlowMachineIsNoReasonToAskAllThreads) {
  // Everything takes three times as long as predicted.
  Machine machine(HostTimes(2e5, 1e5), steady(6e5, 3e5));
  EXPECT_GE(machine.calls_of_one_thread(40), 37) << "checked once";
  EXPECT_GE(machine.calls_of_one_thread(2000), 1970);
}

TEST(HostTimes, AmongEqualsAllThreadsStay) {
  Machine machine(HostTimes(1e5, 1.01e5), steady(1e5, 0.97e5));
  machine.calls_of_one_thread(200);
  // A trial costs what a tenth of a call does, by assumption: 2 calls after 30.
  EXPECT_LE(machine.calls_of_one_thread(10000), 10000 * 2 / 30);
}

}  // namespace
}  // namespace rooftile
