// A schedule of faults: a signal reaches the tuner or its worker at the n-th request of a run.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tests/db/child_process.h"
#include "tests/tuner/faults/tune_fixture.h"

namespace rooftile {
namespace {

constexpr int kInterrupted = 4;  // exit status of a tuner that was told to stop

std::atomic<bool> stopped = false;

struct Sent {
  const char* what;
  int signal;  ///< Negative: to the worker.
  int end;     ///< Of the tuner: its exit status, or the negated signal.
};

class Signals : public TuneFaults, public ::testing::WithParamInterface<Sent> {
 protected:
  /// Number of requests of a run that is sent this signal at its n-th one. Sets the tuner's end.
  long requests(long at, int signal, int& end) {
    const std::filesystem::path counted = folder_ / "requests";
    std::filesystem::remove(counted);
    make_database();
    {
      const ScopedEnvironment file("ROOFTILE_TEST_REQUESTS", counted.string()),
          point("ROOFTILE_TEST_AT", std::to_string(at)),
          number("ROOFTILE_TEST_SIGNAL", std::to_string(signal));
      ChildProcess tuner([&] {
        for (const int stops : {SIGINT, SIGTERM}) ::signal(stops, [](int) { stopped = true; });
        run_and_note(stopped);
        ::_exit(stopped ? kInterrupted : 0);
      });
      end = tuner.wait();
    }
    read_notes();
    while (::wait(nullptr) > 0) {  // until the last worker has ended
    }
    return static_cast<long>(std::filesystem::file_size(counted));
  }

  /// Whether a run had its n-th request, at which it was sent the signal. A run may have fewer,
  /// because a comparison ends when it is certain, so that some are made. Checks what each leaves.
  bool meets(long at) {
    SCOPED_TRACE(at);
    for (int attempt = 0; attempt < (every_point() ? 30 : 3); ++attempt) {
      int end = 0;
      const bool met = requests(at, GetParam().signal, end) > at;
      EXPECT_THAT(end, ::testing::AnyOf(met ? GetParam().end : 0, 0));
      expect_nothing_lost();
      run();
      expect_nothing_lost();
      if (met || HasFailure()) return met;
    }
    return false;
  }
};

TEST_P(Signals, LoseNothingAtAnyRequestAndTheNextRunGoesOn) {
  // Workers that stay behind become children of this process.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int end = 0;
  const long step = every_point() ? 1 : 1 + requests(-1, 0, end) / 4;
  ASSERT_EQ(end, 0);
  int tried = 0;
  // A sample begins elsewhere in each process.
  for (long at = ::getpid() % step; meets(at) && !HasFailure(); at += step) ++tried;
  std::printf("%d requests tried, %s\n", tried, every_point() ? "none skipped" : "a sample");
  EXPECT_GT(tried, 0);
}

INSTANTIATE_TEST_SUITE_P(Tuning, Signals,
                         ::testing::Values(Sent{"InterruptsTheTuner", SIGINT, kInterrupted},
                                           Sent{"TerminatesTheTuner", SIGTERM, kInterrupted},
                                           Sent{"KillsTheTuner", SIGKILL, -SIGKILL},
                                           Sent{"StopsTheTunerForAMoment", SIGSTOP, 0},
                                           Sent{"KillsTheWorker", -SIGKILL, 0},
                                           Sent{"StopsTheWorkerForAMoment", -SIGSTOP, 0}),
                         [](const auto& sent) { return std::string(sent.param.what); });

}  // namespace
}  // namespace rooftile
