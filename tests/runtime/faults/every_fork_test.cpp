// A schedule of faults: another thread forks, or a signal arrives, while a context is in its n-th
// call of the driver, from its opening to its end. Calls of the parent are right, those of the
// child are right on the host. The number of points tried is printed; none is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/db/child_process.h"
#include "tests/support/failing_calls.h"
#include "tests/support/faults_fixture.h"

namespace rooftile {
namespace {

std::atomic<int> signals = 0;

class EveryFork : public Faults {
 protected:
  void TearDown() override {
    FailingCalls::heal();
    Faults::TearDown();
  }

  /// Lets the event happen at each call of the driver in turn.
  void at_every_call(const std::function<void(Context&)>& event) {
    multiply(*open());  // Fills the shader cache, so that no point takes long.
    int points = 0;
    for (bool reached = true; reached; ++points) {
      SCOPED_TRACE(points);
      const auto context = open();
      FailingCalls::interrupt_at(points, [&] { event(*context); });
      multiply(*context);
      multiply(*context, checked_);
      reached = FailingCalls::calls() > points;
      FailingCalls::heal();
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(points, 10);
    std::printf("%d points tried, none skipped\n", points);
    expect_sound_again();
  }
};

TEST_F(EveryFork, DuringACallOfTheDriverHarmsNeitherProcess) {
  at_every_call([&](Context& context) {
    std::thread([&] {
      ChildProcess child([&] {
        ::alarm(60);  // turns a hang into a failure
        multiply(context);
        ::_exit(HasFailure() ? 1 : 0);
      });
      EXPECT_EQ(child.wait(), 0) << "a child hung, crashed, or was wrong";
    }).join();
  });
}

TEST_F(EveryFork, SignalsAtAnyMomentOfCallsHarmNothing) {
  struct sigaction counting = {}, before = {};
  counting.sa_handler = [](int) {
    ++signals;
  };  // Without SA_RESTART: system calls are interrupted.
  ASSERT_EQ(::sigaction(SIGALRM, &counting, &before), 0);
  constexpr int kSignals = 2000, kCalls = 20;  // at least so many; calls of a context
  constexpr itimerval kStorm = {.it_interval = {.tv_sec = 0, .tv_usec = 200},
                                .it_value = {.tv_sec = 0, .tv_usec = 200}},
                      kCalm = {};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &kStorm, nullptr), 0);
  int calls = 0;
  while (signals < kSignals && !HasFailure()) {
    const auto context = open();
    for (int i = 0; i < kCalls; ++i, ++calls) multiply(*context, i % 2 == 0 ? Guard() : checked_);
  }
  ::setitimer(ITIMER_REAL, &kCalm, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  std::printf("%d signals during %d calls\n", signals.load(), calls);
  expect_sound_again();
}

}  // namespace
}  // namespace rooftile
