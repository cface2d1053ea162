// Makes the n-th allocation by operator new fail. A program that links it allocates with it from
// its start on.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace rooftile {

/// Access to the state, which the whole process shares. Only operator new counts. SQLite and
/// most Vulkan drivers call malloc, which does not.
class FailingAllocations {
 public:
  enum class Of : std::uint8_t { kThisThread, kAllThreads };
  /// The n-th allocation (the first is 0) throws std::bad_alloc once. Begins to count anew. Those
  /// that a Vulkan driver makes on this thread do not count.
  static void fail_at(long n, Of whose);
  /// Asks at each allocation of all threads whether it fails, with the code that it returns to.
  static void fail_where(bool (*fails)(const void* caller));
  /// Ends the fault.
  static void heal();
  static bool has_failed();  ///< Since fail_at().
  static long calls();       ///< Of all threads since fail_at(Of::kAllThreads), which began them.
  /// Blocks of all threads that were allocated and are not released.
  static long live();
};

/// Runs it with the n-th allocation of this thread failing, for each n until none fails.
inline int at_every_allocation(const std::function<void()>& prepare,
                               const std::function<void()>& work,
                               const std::function<void(bool failed)>& check) {
  for (int point = 0;; ++point) {
    prepare();
    FailingAllocations::fail_at(point, FailingAllocations::Of::kThisThread);
    work();
    FailingAllocations::heal();
    const bool failed = FailingAllocations::has_failed();
    check(failed);
    if (!failed || ::testing::Test::HasFailure()) return point;
  }
}

}  // namespace rooftile
