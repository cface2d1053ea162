// Schedules that try each call stack of a kind of moment once: a run of the tuner has some thousand
// of these, while the moments themselves are hundreds of thousands, in another order each time.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "tests/db/child_process.h"
#include "tests/support/call_stacks.h"
#include "tests/support/file_text.h"
#include "tests/tuner/faults/tune_fixture.h"

namespace rooftile {

class TuneStacks : public TuneFaults {
 protected:
  /// Exit status of a process whose run ended with the error that the fault calls for.
  static constexpr int kRefused = 3;

  /// Whether the moment that returns to `caller` is the one that fails.
  static bool meets(const void* caller) { return stacks_->meets(caller); }

  /// Lets the fault happen at the first moment of a stack that was not tried before, in a process
  /// of its own that calls body() and ends with what it returns: 0, kRefused or 1. What the file
  /// holds must be sound behind it, and the next run must go on. So on with the other stacks, or
  /// with one in `one_in` of them, until processes meet no further one.
  void try_each(std::uint32_t one_in, const std::function<int()>& body) {
    // Workers that stay behind become children of this process.
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    // The addresses of a process decide its sample, which may be empty: then a larger one is taken.
    for (std::uint32_t share = every_point() ? 1 : one_in; share > 0; share /= 4) {
      stacks_ = std::make_unique<CallStacks>(share);
      // Which stacks a run has depends on the times of its threads.
      for (int quiet = 0; quiet < (every_point() ? kQuietRuns : 1) && !HasFailure();)
        quiet = try_next(body) ? 0 : quiet + 1;
      if (stacks_->tried() > 0 || HasFailure()) break;
    }
    std::printf("%zu call stacks tried, %s: %d ended the run with an error, %d did not\n",
                stacks_->tried(), every_point() ? "none skipped" : "a sample", ends_[kRefused],
                ends_[0]);
    EXPECT_GT(stacks_->tried(), 0);
  }

 private:
  /// Calls body() in a child process, on a thread, whose stacks do not begin with the test's.
  static int end_of(const std::function<int()>& body) {
    ChildProcess child([&] {
      int status = 0;
      std::thread([&] { status = body(); }).join();
      ::_exit(status);
    });
    return child.wait();
  }

  /// Whether there was a stack to try.
  bool try_next(const std::function<int()>& body) {
    make_database();
    stacks_->try_next(stack_text_.string());
    const int end = end_of(body);
    read_notes();
    while (::wait(nullptr) > 0) {  // until the last worker has ended
    }
    if (!stacks_->has_met()) {
      EXPECT_EQ(end, 0);
      return false;
    }
    SCOPED_TRACE(stack_text());
    EXPECT_THAT(end, ::testing::AnyOf(0, kRefused));
    ++ends_[end];
    expect_nothing_lost();
    SCOPED_TRACE("after the next run");
    run();
    expect_nothing_lost();
    return true;
  }

  /// The stack that was met last, for addr2line.
  std::string stack_text() const { return bytes_of_file(stack_text_); }

  static constexpr int kQuietRuns = 20;
  static inline std::unique_ptr<CallStacks> stacks_;
  const std::filesystem::path stack_text_ = folder_ / "stack";
  std::map<int, int> ends_;
};

}  // namespace rooftile
