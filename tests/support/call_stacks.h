// Moments of a program, told apart by the calls that led to them. A schedule of faults that tries
// each of them once is complete where the moments by number are too many, and differ from run to
// run because threads take turns.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rooftile {

/// The call stacks of one kind of moment, in memory that this process shares with processes that
/// it forks later. One object at a time. Thread-safe.
class CallStacks {
 public:
  struct Stack {
    std::uint64_t hash = 0;        ///< Of the return addresses from the caller on.
    const void* caller = nullptr;  ///< Code that the moment returns to.
  };

  CallStacks();
  ~CallStacks();
  CallStacks(const CallStacks&) = delete;
  CallStacks& operator=(const CallStacks&) = delete;

  /// Lets meets() note every stack from now on, and never return true.
  void note_all();
  /// Stacks noted so far.
  std::vector<Stack> noted() const;

  /// Which stacks meets() looks at: those that return to the awaited caller, or, as when they are
  /// noted, all. That slows a program down, and a slow program may take other ways.
  enum class Walk : std::uint8_t { kFew, kAll };
  /// Lets meets() wait for this stack from now on. The first time, it writes the stack as text to
  /// the file.
  void wait_for(Stack stack, const std::string& file, Walk walk);
  bool has_met() const;  ///< Since wait_for(); in any of the processes.

  /// Called at a moment by a function that returns to `caller`: whether its stack is the one that
  /// wait_for() names, which is true once.
  bool meets(const void* caller);

 private:
  static constexpr std::size_t kSlots = 1 << 17, kFrames = 256;
  struct Shared;

  Shared* shared_;
};

}  // namespace rooftile
