// A schedule of faults: an allocation of the tuner fails, in a process of its own.
#include <cstdio>
#include <new>

#include "core/error.h"
#include "tests/support/failing_allocations.h"
#include "tests/tuner/faults/stack_fixture.h"
#include "tuner/worker/worker_process.h"

namespace rooftile {
namespace {

class OutOfMemory : public TuneStacks {
 protected:
  /// Tunes without the allocation that is chosen, and returns the exit status.
  int status() {
    FailingAllocations::fail_where(meets);
    try {
      run_and_note();
      FailingAllocations::heal();
      return 0;
    } catch (const std::bad_alloc&) {
      return kRefused;
    } catch (const Error& error) {
      FailingAllocations::heal();
      std::fprintf(stderr, "%s\n", error.what());
      return error.code() == ErrorCode::kOutOfMemory ? kRefused : 1;
    }
  }
};

TEST_F(OutOfMemory, ARunEndsAndTheNextGoesOn) {
  try_each(170, [&] { return status(); });
}

// Callers may go on, as one that reads counters does.
TEST(AnswersOfWorkers, AreOfTheirRequestsAlsoAfterALackOfMemory) {
  const ScratchFolder folder;
  WorkerScript(folder / "worker") << "while read -r request; do echo \"$request\"; done\n";
  WorkerProcess worker(folder / "worker", {{"operation", "open"}});
  const std::atomic<bool> stop = false;
  constexpr double kLongS = 30;
  int number = 0;
  const int points = at_every_allocation(
      [] {},
      [&] {
        try {
          worker.ask({{"number", ++number}}, kLongS, stop);
        } catch (const std::exception&) {
        }
      },
      [&](bool) {
        const WorkerAnswer answer = worker.ask({{"number", ++number}}, kLongS, stop);
        ASSERT_EQ(answer.fate, WorkerFate::kAnswered) << answer.message;
        EXPECT_EQ(answer.reply.at("number").get<int>(), number);
      });
  EXPECT_GT(points, 5);
}

}  // namespace
}  // namespace rooftile
