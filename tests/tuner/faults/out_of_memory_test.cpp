// A schedule of faults: an allocation of the tuner fails, in a process of its own.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <new>

#include "core/error.h"
#include "tests/db/child_process.h"
#include "tests/support/failing_allocations.h"
#include "tests/tuner/faults/tune_fixture.h"

namespace rooftile {
namespace {

constexpr int kRefused = 3;  // exit status: the lack of memory was reported

/// Tunes without that allocation, and returns the exit status.
int status_without(long allocation, const std::function<void()>& run) {
  int status = 0;
  FailingAllocations::fail_at(allocation, FailingAllocations::Of::kAllThreads);
  try {
    run();
  } catch (const std::bad_alloc&) {
    status = kRefused;
  } catch (const Error& error) {
    FailingAllocations::heal();
    status = error.code() == ErrorCode::kOutOfMemory ? kRefused : 1;
    std::fprintf(stderr, "%s\n", error.what());
  }
  FailingAllocations::heal();
  return status;
}

// nlohmann::json takes memory to destroy a document: where there is none, it ends the program, as
// the kernel does. A run of 0.2 million allocations is too long for a test of each.
TEST_F(TuneFaults, WithoutMemoryARunEndsAndTheNextGoesOn) {
  constexpr long kMany = 1L << 40;
  constexpr int kPoints = 10;
  make_database();
  ASSERT_EQ(status_without(kMany, [&] { run(); }), 0);
  const long allocations = FailingAllocations::calls();
  // Workers that stay behind become children of this process.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  std::map<int, int> ends;
  for (const long point : points(allocations, kPoints)) {
    SCOPED_TRACE(point);
    make_database();
    ChildProcess child([&] { ::_exit(status_without(point, [&] { run_and_note(); })); });
    const int end = child.wait();
    read_notes();
    EXPECT_THAT(end, ::testing::AnyOf(0, kRefused, -SIGABRT));
    ++ends[end];
    while (::wait(nullptr) > 0) {  // until the last worker has ended
    }
    expect_nothing_lost();
    run();
    expect_nothing_lost();
    ASSERT_FALSE(HasFailure());
  }
  std::printf("of %ld allocations %d ended the run with an error, %d the program, %d nothing\n",
              allocations, ends[kRefused], ends[-SIGABRT], ends[0]);
}

}  // namespace
}  // namespace rooftile
