// Which host tier a product made again and again goes to: on simulated machines.
#include "runtime/dispatch/tier_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace rooftile {
namespace {

constexpr int kManyCalls = 100'000;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Of a product that begins where it is predicted to be fastest.
TierTimes times_of(const TierTimes::Predicted& predicted) {
  const Tier host = faster_host(predicted.host_ns, predicted.host1_ns);
  const bool on_device = predicted.device_ns < std::min(predicted.host_ns, predicted.host1_ns);
  return {predicted, on_device ? Tier::kDevice : host};
}
TierTimes host_times(double host_ns, double host1_ns) {
  return times_of({.host_ns = host_ns, .host1_ns = host1_ns});
}

/// Calls whose time the tier decides, and the number of the call; the first one, which is not
/// counted, has been made.
class Machine {
 public:
  using Time = std::function<double(Tier, int)>;
  Machine(TierTimes times, Time time) : times_(times), time_(std::move(time)) {
    times_.record_time(time_(times_.next(), 0));
  }

  /// So many calls; how many of them the tier has answered.
  int calls_of(Tier counted, int calls) {
    int answered = 0;
    for (int i = 0; i < calls; ++i) {
      const Tier tier = times_.next();
      answered += tier == counted ? 1 : 0;
      times_.record_time(time_(tier, call_++));
    }
    return answered;
  }
  int calls_of_one_thread(int calls) { return calls_of(Tier::kHost1, calls); }
  /// Calls until the tier is probed for the first time; returns the length of that probe, 0 where
  /// there is none in many calls.
  int calls_of_first_probe(Tier tried) {
    int before = 0, calls = 0;
    while (before < kManyCalls && calls_of(tried, 1) == 0) ++before;
    if (before == kManyCalls) return 0;
    do ++calls;
    while (calls < kManyCalls && calls_of(tried, 1) == 1);
    return calls;
  }
  Tier next() const { return times_.next(); }

 private:
  TierTimes times_;
  Time time_;
  int call_ = 0;
};

Machine::Time steady(double host_ns, double host1_ns, double device_ns = kInfinity) {
  return [=](Tier tier, int) {
    return tier == Tier::kDevice ? device_ns : tier == Tier::kHost ? host_ns : host1_ns;
  };
}

TEST(TierTimes, ProbeWhereThereIsAChoiceAndACallIsLongEnough) {
  EXPECT_TRUE(host_times(1e5, 1.5e5).open());
  EXPECT_FALSE(TierTimes().open());
  EXPECT_FALSE(host_times(kInfinity, 1e5).open());
  EXPECT_FALSE(host_times(1e5, kInfinity).open());
  EXPECT_FALSE(host_times(800, 700).open()) << "two looks at the clock would be felt";
}

TEST(TierTimes, BeginWithThePredictedTier) {
  EXPECT_EQ(host_times(1e5, 1.5e5).next(), Tier::kHost);
  EXPECT_EQ(host_times(1.5e5, 1e5).next(), Tier::kHost1);
}

TEST(TierTimes, ProbingTheSlowerTierTakesAHundredthOfTheTime) {
  for (const double slower : {1.05, 1.5, 1.9}) {
    Machine all(host_times(1e5, slower * 1e5), steady(1e5, slower * 1e5));
    Machine one(host_times(slower * 1e5, 1e5), steady(slower * 1e5, 1e5));
    constexpr int kCalls = 20000;
    const int of_one = all.calls_of_one_thread(kCalls),
              of_all = kCalls - one.calls_of_one_thread(kCalls);
    // A trial costs 3 calls' loss, and that of a tenth of a call at least. The first ones come
    // sooner.
    const double trials = 0.01 * kCalls / (3 * std::max(slower - 1, 0.1));
    const double most = 3 * trials + 12;
    EXPECT_GT(of_one, 0);
    EXPECT_LE(of_one, most) << slower;
    EXPECT_GT(of_all, 0);
    EXPECT_LE(of_all, slower > 1.06 ? most : kCalls) << slower;
  }
}

TEST(TierTimes, ProbingEndsWhenItIsDecided) {
  constexpr double kMeant = 1.5e5;  // of the tier on trial
  const TierTimes host = host_times(1e5, kMeant),
                  device = times_of({.host_ns = kMeant, .device_ns = 1e5});
  for (const auto& [slower, calls] : {std::pair{1.2, 3}, std::pair{5.0, 2}}) {
    EXPECT_EQ(Machine(host, steady(1e5, slower * 1e5)).calls_of_first_probe(Tier::kHost1), calls);
    EXPECT_EQ(Machine(device, steady(slower * 1e5, 0, 1e5)).calls_of_first_probe(Tier::kHost),
              calls);
  }
}

TEST(TierTimes, ProbingUsesNoEarlierMeasurements) {
  // All threads lose a processor and regain it; of the calls that show it every second is
  // disturbed.
  int since_change = 0;
  Machine machine(host_times(1e5, 1.5e5), [&](Tier tier, int call) {
    if (tier == Tier::kHost1) return since_change = 0, 1.5e5;
    return call < 20 ? 6e5 : ++since_change % 2 == 0 ? 2.5e5 : 1e5;
  });
  EXPECT_GE(machine.calls_of_one_thread(20), 16);
  EXPECT_GT(machine.calls_of_first_probe(Tier::kHost), 3) << "which has shown that it is faster";
}

TEST(TierTimes, AChangeOfTierIsCheckedSoon) {
  // One thread was faster than predicted, until it is in use.
  bool one_is_known = false;
  Machine machine(host_times(3e5, 3.5e5), [&](Tier tier, int) {
    if (tier == Tier::kHost1) return one_is_known = true, 1.5e5;
    return one_is_known ? 1e5 : 3e5;
  });
  const int of_one = machine.calls_of_one_thread(500);
  EXPECT_GT(of_one, 3) << "it was in use";
  // What 3 calls more took before is a tenth of 30 calls.
  EXPECT_LE(of_one, 50);
}

TEST(TierTimes, ATierPredictedToTakeTwiceAsLongIsNotProbed) {
  Machine all(host_times(1e5, 2.1e5), steady(1e5, 2.1e5));
  EXPECT_EQ(all.calls_of_one_thread(100'000), 0);
  Machine device(times_of({.host_ns = 1e7, .host1_ns = 3e7, .device_ns = 1e5}),
                 steady(1e7, 3e7, 1e5));
  EXPECT_EQ(device.calls_of(Tier::kDevice, 100'000), 100'000);
}

TEST(TierTimes, ATierSlowerThanTheOthersPredictionIsLeftAfterTwoCalls) {
  Machine machine(host_times(1e5, 1.5e5), steady(4e5, 1.5e5));
  EXPECT_EQ(machine.calls_of_one_thread(2), 0);
  EXPECT_EQ(machine.next(), Tier::kHost1);
  EXPECT_GE(machine.calls_of_one_thread(1000), 980);
}

TEST(TierTimes, ATierFasterThanPredictedIsFound) {
  // Calibrated where processors were apart: all threads were predicted to be half as fast.
  Machine machine(host_times(2e5, 1.5e5), steady(1e5, 1.5e5));
  EXPECT_LE(machine.calls_of_one_thread(100), 20);
  EXPECT_LE(machine.calls_of_one_thread(1000), 30);
}

TEST(TierTimes, AChangeIsFollowedThereAndBack) {
  // All threads lose, and regain, their processor.
  Machine machine(host_times(1e5, 1.5e5), [](Tier tier, int call) {
    const bool crowded = call >= 1000 && call < 3000;
    return tier == Tier::kHost1 ? 1.5e5 : crowded ? 6e5 : 1e5;
  });
  EXPECT_LE(machine.calls_of_one_thread(1000), 40);
  EXPECT_GE(machine.calls_of_one_thread(2000), 1950);
  // A trial of what takes four times as long costs a hundredth every 3 * 3 / 0.01 calls.
  EXPECT_LE(machine.calls_of_one_thread(2000), 1000);
  EXPECT_LE(machine.calls_of_one_thread(1000), 40);
}

TEST(TierTimes, OneDisturbedCallChangesNothing) {
  // All threads, now and then without one of their processors.
  Machine machine(host_times(1e5, 1.5e5), [](Tier tier, int call) {
    return tier == Tier::kHost1 ? 1.5e5 : call % 7 == 0 ? 3e5 : 1e5;
  });
  // 7e5 ns in 5 calls of 1.3e5: a trial of 3 calls after 7.5e6 ns, and after twice that.
  EXPECT_EQ(machine.calls_of_one_thread(50), 0);
  EXPECT_LE(machine.calls_of_one_thread(1000), 30);
}

TEST(TierTimes, TwoDisturbedCallsAreCorrectedSoon) {
  Machine machine(host_times(1e5, 1.5e5), [](Tier tier, int call) {
    return tier == Tier::kHost1 ? 1.5e5 : call < 2 ? 1.7e5 : 1e5;
  });
  machine.calls_of_one_thread(2);
  ASSERT_EQ(machine.next(), Tier::kHost1);
  EXPECT_LE(machine.calls_of_one_thread(14), 8);
}

TEST(TierTimes, AChoiceOfOneThreadIsCheckedSoon) {
  Machine machine(host_times(1.3e5, 1e5), steady(1e5, 1.3e5));
  EXPECT_LE(machine.calls_of_one_thread(31), 6);
  Machine right(host_times(1.3e5, 1e5), steady(1.3e5, 1e5));
  EXPECT_GE(right.calls_of_one_thread(31), 28);
}

// It wakes threads that sleep.
TEST(TierTimes, TheFirstCallAfterAnotherTiersIsNotCounted) {
  Tier last = Tier::kHost;
  int since = 0;  // that tier's first call
  Machine machine(host_times(1e5, 1.5e5), [&](Tier tier, int) {
    since = tier == last ? since + 1 : 0;
    last = tier;
    const double habits = since == 0 ? 1e6 : since == 1 && tier == Tier::kHost ? 4e5 : 0;
    return (tier == Tier::kHost ? 1e5 : 1.5e5) + habits;
  });
  // All threads have one disturbed call after each trial, not two.
  EXPECT_LE(machine.calls_of_one_thread(2000), 3 * 15);
}

TEST(TierTimes, ASlowMachineDoesNotSwitchToAllThreads) {
  // Everything takes three times as long as predicted.
  Machine machine(host_times(2e5, 1e5), steady(6e5, 3e5));
  EXPECT_GE(machine.calls_of_one_thread(40), 37) << "checked once";
  EXPECT_GE(machine.calls_of_one_thread(2000), 1970);
}

TEST(TierTimes, ADeviceSlowerThanTheHostsPredictionIsLeftAfterTwoCalls) {
  Machine machine(times_of({.host_ns = 3e5, .host1_ns = 5e5, .device_ns = 1e5}),
                  steady(3e5, 5e5, 4e5));
  EXPECT_EQ(machine.calls_of(Tier::kDevice, 2), 2);
  EXPECT_EQ(machine.next(), Tier::kHost);
  EXPECT_GE(machine.calls_of(Tier::kHost, 2000), 1950);
}

TEST(TierTimes, AHostThatIsFasterThanPredictedIsFound) {
  Machine machine(times_of({.host_ns = 1.5e5, .host1_ns = 2.5e5, .device_ns = 1e5}),
                  steady(0.5e5, 1e5, 1e5));
  EXPECT_LE(machine.calls_of(Tier::kDevice, 1000), 100);
  EXPECT_GE(machine.calls_of(Tier::kHost, 1000), 970);
}

TEST(TierTimes, AHostThatHasSlowedDownIsLeftForTheDevice) {
  Machine machine(times_of({.host_ns = 1e5, .host1_ns = 3e5, .device_ns = 1.4e5}),
                  steady(3e5, 6e5, 1.4e5));
  EXPECT_EQ(machine.calls_of(Tier::kHost, 2), 2);
  EXPECT_GE(machine.calls_of(Tier::kDevice, 1000), 970);
}

TEST(TierTimes, OtherTiersAreProbedInTurn) {
  const TierTimes::Predicted predicted = {.host_ns = 1e5, .host1_ns = 1.4e5, .device_ns = 1.4e5};
  Machine machine(times_of(predicted), steady(1e5, 1.4e5, 1.4e5));
  int one = 0, device = 0;
  for (int call = 0; call < 20000; ++call) {
    const Tier tier = machine.next();
    one += tier == Tier::kHost1 ? 1 : 0;
    device += tier == Tier::kDevice ? 1 : 0;
    machine.calls_of(tier, 1);
  }
  // Trials of three calls each cost 1.2 calls, and take a hundredth of the time: 83 between them.
  EXPECT_NEAR(one, 20000 * 0.01 / 1.2 * 3 / 2, 30);
  EXPECT_NEAR(device, one, 3);
}

TEST(TierTimes, ADeviceIsChosenOnlyIfItIsClearlyFaster) {
  const TierTimes::Predicted predicted = {.host_ns = 1e5, .host1_ns = 3e5, .device_ns = 0.97e5};
  Machine as_predicted(times_of(predicted), steady(1e5, 3e5, 0.97e5));
  EXPECT_EQ(as_predicted.calls_of(Tier::kDevice, 5), 5) << "it was chosen for that";
  EXPECT_LE(as_predicted.calls_of(Tier::kDevice, 10000), 10000 * 3 / 30);
  Machine faster(times_of(predicted), steady(1e5, 3e5, 0.9e5));
  EXPECT_GE(faster.calls_of(Tier::kDevice, 10000), 9000);
}

TEST(TierTimes, ADeviceThatHasFailedIsNotProbedAgain) {
  TierTimes times = times_of({.host_ns = 1e5, .host1_ns = 1.5e5, .device_ns = 1.1e5});
  for (int call = 0; call < kManyCalls && times.next() != Tier::kDevice; ++call)
    times.record_time(times.next() == Tier::kHost ? 1e5 : 1.5e5);
  ASSERT_EQ(times.next(), Tier::kDevice);
  EXPECT_TRUE(times.device_races());
  for (int call = 0; call < 3; ++call) times.record_time(0.5e5);
  times.leave_device_out();
  EXPECT_FALSE(times.device_races());
  EXPECT_TRUE(times.open()) << "one thread or all is still to be chosen";
  for (int call = 0; call < 10000; ++call) {
    ASSERT_NE(times.next(), Tier::kDevice);
    times.record_time(times.next() == Tier::kHost ? 1e5 : 1.5e5);
  }
  TierTimes two = times_of({.host_ns = 1e5, .device_ns = 0.9e5});
  two.leave_device_out();
  EXPECT_FALSE(two.open());
  EXPECT_EQ(two.next(), Tier::kHost);
}

TEST(TierTimes, AllThreadsAreKeptWhereTiersAreEqual) {
  Machine machine(host_times(1e5, 1.01e5), steady(1e5, 0.97e5));
  machine.calls_of_one_thread(200);
  // A trial costs what a tenth of a call does, by assumption: 2 calls after 30.
  EXPECT_LE(machine.calls_of_one_thread(10000), 10000 * 2 / 30);
}

}  // namespace
}  // namespace rooftile
