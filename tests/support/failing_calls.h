// Makes the n-th call of the driver fail, whichever function it is. A program that links it has it
// in front of FaultyDriver (faulty_driver.h).
#pragma once

#include <functional>

#include "tests/support/faulty_driver.h"

namespace rooftile {

/// Access to the state, which the whole process shares. Only functions of Vulkan 1.1 that return a
/// VkResult count. Thread-safe.
class FailingCalls {
 public:
  /// From the n-th call on (the first is 0) all fail, as those on a lost device do, or only that
  /// one. Begins to count anew.
  enum class Then : std::uint8_t { kAllFail, kRecovers };
  static void fail_at(int n, VkResult result, Then then);
  /// At the n-th call happens `event`, on the calling thread, before the call is passed on. Begins
  /// to count anew.
  static void interrupt_at(int n, std::function<void()> event);
  /// Ends the fault. Calls are counted on.
  static void heal();
  static int calls();                  ///< Since fail_at().
  static const char* first_to_fail();  ///< Name of the function; "" where none has failed.
};

}  // namespace rooftile
