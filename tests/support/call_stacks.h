// Moments of a program, told apart by the calls that led to them. A schedule of faults that tries
// each of them once is complete where the moments by number are too many, and differ from run to
// run because threads take turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rooftile {

/// The call stacks of one kind of moment that were tried, in memory that this process shares with
/// processes that it forks later. A stack is known by its return addresses from the moment's caller
/// on. One object at a time. Thread-safe.
class CallStacks {
 public:
  /// Of `one_in` stacks one counts, chosen by its addresses, which differ in each process that is
  /// started anew; of a small sample only those of a few callers. 1: every stack counts.
  explicit CallStacks(std::uint32_t one_in);
  ~CallStacks();
  CallStacks(const CallStacks&) = delete;
  CallStacks& operator=(const CallStacks&) = delete;

  /// Lets meets() return true once more, and writes that stack as text to the file.
  void try_next(const std::string& file);
  bool has_met() const;       ///< Since try_next(); in any of the processes.
  std::size_t tried() const;  ///< Number of stacks.

  /// Called at a moment by a function that returns to `caller`: whether its stack counts, was not
  /// tried before, and is the first such one since try_next(). It has been tried then.
  bool meets(const void* caller);

 private:
  static constexpr std::size_t kSlots = 1 << 17, kFrames = 256;
  struct Shared;

  Shared* shared_;
};

}  // namespace rooftile
