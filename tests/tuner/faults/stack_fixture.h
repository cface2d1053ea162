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
#include "tests/tuner/faults/tune_fixture.h"

namespace rooftile {

class TuneStacks : public TuneFaults {
 protected:
  /// Exit status of a process whose run ended with the error that the fault calls for.
  static constexpr int kRefused = 3;

  /// Whether the moment that returns to `caller` is the one that fails.
  static bool meets(const void* caller) { return stacks_->meets(caller); }

  /// Lets the fault happen at the first moment of each stack, in a process of its own that calls
  /// body() and ends with what it returns: 0, kRefused or 1. What the file holds must be sound
  /// behind each, and the next run must go on.
  void try_each(const std::function<int()>& body) {
    stacks_ = std::make_unique<CallStacks>();
    // Workers that stay behind become children of this process.
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    note_stacks(body);
    ASSERT_FALSE(HasFailure());
    const std::vector<CallStacks::Stack> stacks = stacks_->noted();
    for (const long point : points(static_cast<long>(stacks.size()), kPoints)) {
      const CallStacks::Stack& stack = stacks[static_cast<std::size_t>(point)];
      // Which stacks a run has depends on the times of its threads.
      for (int attempt = 0; attempt == 0 || (attempt < kAttempts && !stacks_->has_met()); ++attempt)
        try_one(stack, attempt == 0 ? CallStacks::Walk::kFew : CallStacks::Walk::kAll, body);
      not_met_ += stacks_->has_met() ? 0 : 1;
    }
    std::printf(
        "%d ended the run with an error, %d nothing; %d did not occur again in %d runs each\n",
        ends_[kRefused], ends_[0], not_met_, kAttempts);
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

  /// Notes the stacks of whole runs, until some runs in turn have no new one.
  void note_stacks(const std::function<int()>& body) {
    const int quiet_runs = every_point() ? kQuietRuns : 0;
    std::size_t known = 0;
    int runs = 0;
    for (int quiet = -1; quiet < quiet_runs; ++runs) {
      make_database();
      stacks_->note_all();
      ASSERT_EQ(end_of(body), 0);
      const std::size_t now = stacks_->noted().size();
      quiet = now == known ? quiet + 1 : 0;
      known = now;
    }
    read_notes();
    std::printf("%zu call stacks in %d runs\n", known, runs);
  }

  void try_one(CallStacks::Stack stack, CallStacks::Walk walk, const std::function<int()>& body) {
    make_database();
    stacks_->wait_for(stack, stack_text_.string(), walk);
    const int end = end_of(body);
    read_notes();
    EXPECT_THAT(end, ::testing::AnyOf(0, kRefused)) << stack_text();
    while (::wait(nullptr) > 0) {  // until the last worker has ended
    }
    if (!stacks_->has_met()) return;
    ++ends_[end];
    expect_nothing_lost();
    run();
    expect_nothing_lost();
  }

  /// The stack that was met last, for addr2line.
  std::string stack_text() const {
    std::ifstream file(stack_text_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static constexpr int kPoints = 10;  // in a test of a sample
  static constexpr int kQuietRuns = 5, kAttempts = 30;
  static inline std::unique_ptr<CallStacks> stacks_;
  const std::filesystem::path stack_text_ = folder_ / "stack";
  std::map<int, int> ends_;
  int not_met_ = 0;
};

}  // namespace rooftile
