#include "tuner/measure/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace rooftile {
namespace {

using ::testing::ElementsAre;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A machine whose clock advances by a second per turn, and whose speed is a function of time.
class Machine {
 public:
  explicit Machine(std::function<double(double)> speed) : speed_(std::move(speed)) {}
  SampledFigure figure(std::string name, double rate) {
    return {std::move(name), "gbps", [this, rate] {
              taken_.push_back(rate);
              return Turn{.value = rate * speed_(now_s_++)};
            }};
  }
  std::vector<Figure> calibrate(const std::vector<SampledFigure>& figures, double end_s) {
    return sample_in_rounds(figures, end_s, [this] { return now_s_; });
  }
  const std::vector<double>& taken() const { return taken_; }

 private:
  std::function<double(double)> speed_;
  double now_s_ = 0;
  std::vector<double> taken_;
};

double constant(double) { return 1; }
double restless(double now_s) { return 1 + 0.3 * static_cast<double>(static_cast<int>(now_s) % 7); }

TEST(RoundsTest, ChangesOfTheMachinesSpeedLeaveRatiosAlone) {
  // The machine is half as fast from the fifth round on. Rates measured one after the other would
  // differ by a factor of two.
  Machine machine([](double now_s) { return now_s < 13 ? 1.0 : 0.5; });
  const std::vector<Figure> figures = machine.calibrate(
      {machine.figure("a", 100), machine.figure("b", 10), machine.figure("c", 1)}, kNever);
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_EQ(figures[0].count, static_cast<std::size_t>(kMostRounds));
  EXPECT_NEAR(figures[0].value / figures[1].value, 10, 1e-9);
  EXPECT_NEAR(figures[1].value / figures[2].value, 10, 1e-9);
}

TEST(RoundsTest, SteadyMeasurementsNeedFewRounds) {
  Machine machine(constant);
  const std::vector<Figure> figures =
      machine.calibrate({machine.figure("a", 2), machine.figure("b", 3)}, kNever);
  EXPECT_THAT(figures, ElementsAre(Figure{"a", "gbps", 2, 0, kRoundsThatTell},
                                   Figure{"b", "gbps", 3, 0, kRoundsThatTell}));
  EXPECT_THAT(machine.taken(), ElementsAre(2, 3, 2, 3, 2, 3, 2, 3, 2, 3));
}

TEST(RoundsTest, OneNoisyMeasurementExtendsAllRoundsUpToALimit) {
  Machine machine(constant);
  SampledFigure restless_one = machine.figure("b", 1);
  restless_one.take = [now = 0.0]() mutable { return Turn{.value = restless(now++)}; };
  const std::vector<Figure> figures =
      machine.calibrate({machine.figure("a", 2), restless_one}, kNever);
  EXPECT_EQ(figures[0].count, static_cast<std::size_t>(kMostRounds));
  EXPECT_EQ(figures[1].count, static_cast<std::size_t>(kMostRounds));
  EXPECT_GT(figures[1].mad, 0);
}

TEST(RoundsTest, StopsWhenTheTimeIsUp) {
  Machine machine(restless);
  constexpr double kEndS = 3 * 8 - 1;  // inside the eighth round of three turns
  const std::vector<Figure> figures = machine.calibrate(
      {machine.figure("a", 1), machine.figure("b", 2), machine.figure("c", 3)}, kEndS);
  EXPECT_EQ(figures[0].count, 8u);
  EXPECT_EQ(figures[2].count, 8u);
}

TEST(RoundsTest, TheMinimumNumberOfRoundsIsAlwaysMeasured) {
  Machine machine(restless);
  const std::vector<Figure> figures = machine.calibrate({machine.figure("a", 1)}, -1);
  EXPECT_EQ(figures[0].count, static_cast<std::size_t>(kFewestRounds));
}

TEST(RoundsTest, ADisturbedSampleIsRepeatedOnce) {
  int taken = 0;
  const auto spoilt_at_first = [&] {
    return ++taken == 1 ? Turn{.value = 1, .busy_share = 0.5} : Turn{.value = 8};
  };
  const std::vector<Figure> figures =
      sample_in_rounds({{"a", "ns", spoilt_at_first}}, kNever, [] { return 0.0; });
  EXPECT_EQ(taken, kRoundsThatTell + 1);
  EXPECT_THAT(figures, ElementsAre(Figure{"a", "ns", 8, 0, kRoundsThatTell}));
  taken = 0;
  const auto always_spoilt = [&] {
    ++taken;
    return Turn{.value = 2, .busy_share = 0.5};
  };
  EXPECT_EQ(sample_in_rounds({{"a", "ns", always_spoilt}}, kNever).front().value, 2);
  EXPECT_EQ(taken, 2 * kRoundsThatTell);
  taken = 0;  // Nothing is repeated when time has run out.
  EXPECT_EQ(sample_in_rounds({{"a", "ns", always_spoilt}}, -1).front().value, 2);
  EXPECT_EQ(taken, kFewestRounds);
}

TEST(RoundsTest, NothingToSample) { EXPECT_TRUE(sample_in_rounds({}, kNever).empty()); }

}  // namespace
}  // namespace rooftile
