// Tests online tier selection for repeated calls, on simulated machines.
#include "runtime/dispatch/tier_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace rooftile {
namespace {

constexpr int kManyCalls = 100'000;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Times of a call that begins on the tier that is predicted to be the fastest.
TierTimes times_of(const TierTimes::Predicted& predicted) {
  const Tier host = faster_host(predicted.host_ns, predicted.host1_ns);
  const bool on_device = predicted.device_ns < std::min(predicted.host_ns, predicted.host1_ns);
  return {predicted, on_device ? Tier::kDevice : host};
}
TierTimes host_times(double host_ns, double host1_ns) {
  return times_of({.host_ns = host_ns, .host1_ns = host1_ns});
}

/// Simulates calls whose time depends on the tier and on the number of the call. The constructor
/// makes the first call, which is not counted.
class Machine {
 public:
  using Time = std::function<double(Tier, int)>;
  Machine(TierTimes times, Time time) : times_(times), time_(std::move(time)) {
    times_.record_time(time_(times_.next(), 0));
  }

  /// Makes that many calls and returns how many of them the tier has answered.
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
  /// Calls until the tier is probed for the first time, and returns the length of that probe, or 0
  /// if there is none in kManyCalls calls.
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
  EXPECT_FALSE(host_times(800, 700).open()) << "reading the clock twice would cost too much";
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
    // A probe costs the extra time of 3 calls, and at least that of a tenth of a call for each.
    // The first probes come sooner.
    const double trials = 0.01 * kCalls / (3 * std::max(slower - 1, 0.1));
    const double most = 3 * trials + 12;
    EXPECT_GT(of_one, 0);
    EXPECT_LE(of_one, most) << slower;
    EXPECT_GT(of_all, 0);
    EXPECT_LE(of_all, slower > 1.06 ? most : kCalls) << slower;
  }
}

TEST(TierTimes, ProbingEndsWhenItIsDecided) {
  constexpr double kMeant = 1.5e5;  // predicted time of the probed tier
  const TierTimes host = host_times(1e5, kMeant),
                  device = times_of({.host_ns = kMeant, .device_ns = 1e5});
  for (const auto& [slower, calls] : {std::pair{1.2, 3}, std::pair{5.0, 2}}) {
    EXPECT_EQ(Machine(host, steady(1e5, slower * 1e5)).calls_of_first_probe(Tier::kHost1), calls);
    EXPECT_EQ(Machine(device, steady(slower * 1e5, 0, 1e5)).calls_of_first_probe(Tier::kHost),
              calls);
  }
}

TEST(TierTimes, ProbingUsesNoEarlierMeasurements) {
  // All threads lose a processor for 20 calls. Afterwards, every second call with all threads is
  // disturbed.
  int since_change = 0;
  Machine machine(host_times(1e5, 1.5e5), [&](Tier tier, int call) {
    if (tier == Tier::kHost1) return since_change = 0, 1.5e5;
    return call < 20 ? 6e5 : ++since_change % 2 == 0 ? 2.5e5 : 1e5;
  });
  EXPECT_GE(machine.calls_of_one_thread(20), 16);
  EXPECT_GT(machine.calls_of_first_probe(Tier::kHost), 3)
      << "all threads were measured to be faster, but were left again";
}

TEST(TierTimes, AChangeOfTierIsCheckedSoon) {
  // All threads take longer than one thread at first, and less as soon as one thread has been
  // used.
  bool one_is_known = false;
  Machine machine(host_times(3e5, 3.5e5), [&](Tier tier, int) {
    if (tier == Tier::kHost1) return one_is_known = true, 1.5e5;
    return one_is_known ? 1e5 : 3e5;
  });
  const int of_one = machine.calls_of_one_thread(500);
  EXPECT_GT(of_one, 3) << "one thread was never chosen";
  // Before the change, 3 calls with all threads took longer by a tenth of the time of 30 calls.
  EXPECT_LE(of_one, 50);
}

TEST(TierTimes, ATierPredictedToTakeTwiceAsLongIsNotProbed) {
  Machine all(host_times(1e5, 2.1e5), steady(1e5, 2.1e5));
  EXPECT_EQ(all.calls_of_one_thread(100'000), 0);
  Machine device(times_of({.host_ns = 1e7, .host1_ns = 3e7, .device_ns = 1e5}),
                 steady(1e7, 3e7, 1e5));
  EXPECT_EQ(device.calls_of(Tier::kDevice, 100'000), 100'000);
}

TEST(TierTimes, AllThreadsAreProbedInsteadOfOneHoweverSlowTheyArePredicted) {
  // The calibration ran beside a busy program: all threads are predicted to take eight times as
  // long as they do. A probe may cost 3 * (8e5 - 2e5) ns, which is three tenths of 30 calls.
  Machine machine(host_times(8e5, 2e5), steady(1e5, 2e5));
  EXPECT_LE(machine.calls_of_one_thread(35), 33);
  EXPECT_LE(machine.calls_of_one_thread(1000), 30) << "all threads were left again";
  // Where the prediction is right, the probes take a share of the time that ends at a hundredth.
  Machine right(host_times(8e5, 2e5), steady(8e5, 2e5));
  constexpr int kCalls = 100'000;
  const int of_all = kCalls - right.calls_of_one_thread(kCalls);
  EXPECT_GT(of_all, 0);
  EXPECT_LE(of_all * (8e5 - 2e5), 0.02 * kCalls * 2e5);
}

TEST(TierTimes, ATierSlowerThanTheOthersPredictionIsLeftAfterTwoCalls) {
  Machine machine(host_times(1e5, 1.5e5), steady(4e5, 1.5e5));
  EXPECT_EQ(machine.calls_of_one_thread(2), 0);
  EXPECT_EQ(machine.next(), Tier::kHost1);
  EXPECT_GE(machine.calls_of_one_thread(1000), 980);
}

TEST(TierTimes, ATierFasterThanPredictedIsFound) {
  // During the calibration the processors were far from each other: all threads are predicted to
  // be half as fast as they are.
  Machine machine(host_times(2e5, 1.5e5), steady(1e5, 1.5e5));
  EXPECT_LE(machine.calls_of_one_thread(100), 20);
  EXPECT_LE(machine.calls_of_one_thread(1000), 30);
}

TEST(TierTimes, AChangeIsFollowedThereAndBack) {
  // All threads lose a processor and regain it 2000 calls later.
  Machine machine(host_times(1e5, 1.5e5), [](Tier tier, int call) {
    const bool crowded = call >= 1000 && call < 3000;
    return tier == Tier::kHost1 ? 1.5e5 : crowded ? 6e5 : 1e5;
  });
  EXPECT_LE(machine.calls_of_one_thread(1000), 40);
  EXPECT_GE(machine.calls_of_one_thread(2000), 1950);
  // All threads take four times as long. A probe costs the time of 3 * 3 calls, which is a
  // hundredth of the time of 900 calls.
  EXPECT_LE(machine.calls_of_one_thread(2000), 1000);
  EXPECT_LE(machine.calls_of_one_thread(1000), 40);
}

TEST(TierTimes, OneDisturbedCallChangesNothing) {
  // Every seventh call with all threads lacks one of their processors.
  Machine machine(host_times(1e5, 1.5e5), [](Tier tier, int call) {
    return tier == Tier::kHost1 ? 1.5e5 : call % 7 == 0 ? 3e5 : 1e5;
  });
  // A call takes 1.3e5 ns on average, and the first 5 take 7e5 ns. A probe of 3 calls follows
  // after 7.5e6 ns, and the next one after twice that.
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

// The first call after another tier's wakes sleeping threads.
TEST(TierTimes, TheFirstCallAfterAnotherTiersIsNotCounted) {
  Tier last = Tier::kHost;
  int since = 0;  // calls since that tier's first one
  Machine machine(host_times(1e5, 1.5e5), [&](Tier tier, int) {
    since = tier == last ? since + 1 : 0;
    last = tier;
    const double habits = since == 0 ? 1e6 : since == 1 && tier == Tier::kHost ? 4e5 : 0;
    return (tier == Tier::kHost ? 1e5 : 1.5e5) + habits;
  });
  // One counted call with all threads is disturbed after each probe, not two.
  EXPECT_LE(machine.calls_of_one_thread(2000), 3 * 15);
}

TEST(TierTimes, ASlowMachineDoesNotSwitchToAllThreads) {
  // Everything takes three times as long as predicted.
  Machine machine(host_times(2e5, 1e5), steady(6e5, 3e5));
  EXPECT_GE(machine.calls_of_one_thread(40), 37) << "all threads were probed more than once";
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
  // A probe of three calls costs the time of 1.2 calls, and probes take a hundredth of the time:
  // each of the two tiers has 83 probes.
  EXPECT_NEAR(one, 20000 * 0.01 / 1.2 * 3 / 2, 30);
  EXPECT_NEAR(device, one, 3);
}

TEST(TierTimes, ADeviceIsChosenOnlyIfItIsClearlyFaster) {
  const TierTimes::Predicted predicted = {.host_ns = 1e5, .host1_ns = 3e5, .device_ns = 0.97e5};
  Machine as_predicted(times_of(predicted), steady(1e5, 3e5, 0.97e5));
  EXPECT_EQ(as_predicted.calls_of(Tier::kDevice, 5), 5)
      << "the device was left although it is as fast as predicted";
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
  times.leave_out(Tier::kDevice);
  EXPECT_FALSE(times.device_races());
  EXPECT_TRUE(times.open()) << "both host tiers are still candidates";
  for (int call = 0; call < 10000; ++call) {
    ASSERT_NE(times.next(), Tier::kDevice);
    times.record_time(times.next() == Tier::kHost ? 1e5 : 1.5e5);
  }
  TierTimes two = times_of({.host_ns = 1e5, .device_ns = 0.9e5});
  two.leave_out(Tier::kDevice);
  EXPECT_FALSE(two.open());
  EXPECT_EQ(two.next(), Tier::kHost);
}

TEST(TierTimes, AllThreadsAreKeptWhereTiersAreEqual) {
  Machine machine(host_times(1e5, 1.01e5), steady(1e5, 0.97e5));
  machine.calls_of_one_thread(200);
  // A probe is assumed to cost at least the time of a tenth of a call: 2 of its calls follow after
  // 30 calls.
  EXPECT_LE(machine.calls_of_one_thread(10000), 10000 * 2 / 30);
}

}  // namespace
}  // namespace rooftile
