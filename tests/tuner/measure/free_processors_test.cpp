#include "tuner/measure/free_processors.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ProcessorUse pause(double seconds, std::map<int, double> busy_s) {
  return {.wall_s = seconds, .own_s = 0, .busy_s = std::move(busy_s)};
}

TEST(HeldProcessors, AreThoseThatOthersKeepBusy) {
  EXPECT_THAT(held_processors(pause(0.1, {{0, 0}, {1, 0.1}, {2, 0.02}, {3, 0.09}})),
              ElementsAre(1, 3));
  EXPECT_THAT(held_processors(pause(0.1, {{0, 0.02}, {1, 0.05}})), IsEmpty());
}

TEST(HeldProcessors, LeaveOneThatIsTheLeastBusy) {
  EXPECT_THAT(held_processors(pause(0.1, {{0, 0.08}, {1, 0.1}})), ElementsAre(1));
}

TEST(HeldProcessors, AreAsManyAsAProgramThatMovesBetweenThemUses) {
  EXPECT_THAT(held_processors(pause(0.1, {{0, 0.06}, {1, 0.04}})), ElementsAre(0));
}

TEST(HeldProcessors, AreNoneWhereTheSystemDoesNotCount) {
  EXPECT_THAT(held_processors(pause(0.1, {})), IsEmpty());
}

/// Two processors. This process uses those that it may use, beside others that share each of them
/// evenly with it, and alone where it pauses.
class FreeProcessorsTest : public ::testing::Test {
 protected:
  void run(double seconds, bool paused) {
    now_.wall_s += seconds;
    for (const int processor : {0, 1}) {
      const bool ours =
          !paused && (mine_.empty() || mine_.front() == processor || mine_.size() > 1);
      const double other = others_[processor];
      const double own = ours ? (other > 0.5 ? 0.5 : 1 - other) : 0;
      now_.own_s += own * seconds;
      now_.busy_s[processor] += seconds * (own + (ours && other > 0.5 ? 0.5 : other));
    }
  }
  void measure(double seconds) {
    free_.begin();
    run(seconds, false);
    free_.end();
  }

  std::map<int, double> others_ = {{0, 0}, {1, 0}};  ///< Processors that others want.
  ProcessorUse now_ = {.wall_s = 1, .own_s = 0, .busy_s = {{0, 0}, {1, 0}}};
  std::vector<int> mine_;
  int pauses_ = 0;
  FreeProcessors free_{{.all = {0, 1},
                        .use = [this] { return now_; },
                        .pause =
                            [this](double seconds) {
                              ++pauses_;
                              run(seconds, true);
                            },
                        .bind = [this](const std::vector<int>& these) { mine_ = these; }}};
};

TEST_F(FreeProcessorsTest, AreAllOnAQuietMachineAndNothingPauses) {
  for (int i = 0; i < 20; ++i) measure(0.2);
  EXPECT_EQ(free_.free(), 2u);
  EXPECT_EQ(pauses_, 0);
  EXPECT_EQ(free_.to_all(7), 1);
}

TEST_F(FreeProcessorsTest, LeaveOutTheOneThatAnotherProgramKeeps) {
  others_[0] = 1;
  for (int i = 0; i < 4; ++i) measure(0.2);
  EXPECT_THAT(mine_, ElementsAre(1));
  EXPECT_EQ(free_.free(), 1u);
  for (int i = 0; i < 20; ++i) measure(0.2);
  EXPECT_EQ(pauses_, 1) << "nothing is to be found out any more";
}

TEST_F(FreeProcessorsTest, FollowAProgramThatMoves) {
  others_[0] = 1;
  for (int i = 0; i < 4; ++i) measure(0.2);
  others_ = {{0, 0}, {1, 1}};
  for (int i = 0; i < 40; ++i) measure(0.2);
  EXPECT_THAT(mine_, ElementsAre(0));
}

TEST_F(FreeProcessorsTest, AreAllAgainWhereTheOtherProgramEnded) {
  others_[0] = 1;
  for (int i = 0; i < 4; ++i) measure(0.2);
  others_[0] = 0;
  for (int i = 0; i < 4; ++i) measure(0.2);
  EXPECT_THAT(mine_, ElementsAre(0, 1));
}

TEST_F(FreeProcessorsTest, AreLookedForSeldomWhereOthersUseALittle) {
  others_ = {{0, 0.3}, {1, 0.3}};
  for (int i = 0; i < 50; ++i) measure(0.2);
  EXPECT_EQ(free_.free(), 2u);
  EXPECT_GE(pauses_, 1);
  EXPECT_LE(pauses_, 4) << "in ten seconds";
}

TEST_F(FreeProcessorsTest, TellTheTimeOnAllOfThem) {
  others_[0] = 1;
  for (int i = 0; i < 4; ++i) measure(0.2);
  ASSERT_EQ(free_.free(), 1u);
  EXPECT_EQ(free_.to_all(1), 1) << "one workgroup runs on one processor";
  EXPECT_EQ(free_.to_all(2), 0.5);
  EXPECT_DOUBLE_EQ(free_.to_all(3), 2.0 / 3);
  EXPECT_EQ(free_.to_all(1000), 0.5);
}

TEST(FreeProcessors, OfThisProcessRestrictItsThreads) {
  FreeProcessors::System system = FreeProcessors::this_process();
  if (system.all.size() < 2) GTEST_SKIP() << "one processor";
  const std::vector<int> first = {system.all.front()};
  system.bind(first);
  EXPECT_EQ(FreeProcessors::this_process().all, first);
  system.bind(system.all);
  EXPECT_EQ(FreeProcessors::this_process().all, system.all);
}

}  // namespace
}  // namespace rooftile
