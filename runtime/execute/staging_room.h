// How many calls of several threads hold staged operands at a time, slices of large calls aside.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace rooftile {

/// Lets calls in, in the order in which they come, while their operands together stay within a
/// limit. One call is let in whatever its size. Thread-safe.
class StagingRoom {
 public:
  explicit StagingRoom(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  /// A call that is in the room until this is destroyed.
  class Place {
   public:
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    /// Leaves if another call is in the room, and comes in again when none is. No other call comes
    /// in then before this one leaves. Returns whether another call was there.
    bool become_alone();

   private:
    friend class StagingRoom;
    Place(StagingRoom& room, std::uint64_t bytes);
    StagingRoom& room_;
    std::uint64_t bytes_;
  };
  /// Waits until there is room for these bytes.
  Place enter(std::uint64_t bytes) { return {*this, bytes}; }

  struct State {
    int inside, waiting;  ///< Calls.
  };
  State state() const;  ///< For tests.

 private:
  void let_in(std::uint64_t bytes);
  void tell_waiting();
  void let_out(std::uint64_t bytes);

  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;  ///< Guards the members below.
  /// Counts changes of the members below. No condition variable: its destructor waits for threads
  /// that do not exist in a forked child.
  std::atomic<std::uint32_t> changes_ = 0;
  std::uint64_t next_ = 0, admitted_ = 0;  ///< Numbers of the calls that come and that came in.
  std::uint64_t bytes_ = 0;
  int calls_ = 0;
};

}  // namespace rooftile
