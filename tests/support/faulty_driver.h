// A Vulkan driver that fails on command. When it is linked into a test program, it stands between
// the library and the loader from the first use of Vulkan on. Calls without an injected fault are
// passed on.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <optional>

namespace rooftile {

/// Access to the driver's state, which the whole process shares. Thread-safe.
class FaultyDriver {
 public:
  enum class Call : std::uint8_t {
    kEnumerate,  // vkEnumeratePhysicalDevices
    kOpen,       // vkCreateDevice
    kCompile,    // vkCreateComputePipelines
    kSubmit,     // vkQueueSubmit
    kWait,       // vkWaitForFences; the submitted work finishes in any case
    kOutlast,    // vkWaitForFences with an infinite timeout
  };
  /// Makes all such calls return that result, except for the next good_calls ones.
  static void fail(Call call, VkResult result, int good_calls = 0);
  static void fail_once(Call call, VkResult result);
  static int failed(Call call);  // Number of failed calls since fail().
  static int calls(Call call);   // Number of calls since the program began.
  /// Blocks the next such call before it reaches the driver, until it is released.
  static void hold_next(Call call);
  /// Waits until the call is blocked. Throws std::runtime_error after a minute.
  static void await_held();
  /// Releases the blocked call, or cancels hold_next. then: the kind of call to hold next.
  static void release(std::optional<Call> then = {});
  /// Sum of the timeouts of the waits that have failed with VK_TIMEOUT since fail().
  static double waited_in_vain_ns();
  /// Makes allocations fail that would exceed this sum over all devices.
  static void limit_memory(std::uint64_t bytes);
  static std::uint64_t memory_in_use();
  static int allocations_refused();  // By that limit, since the program began.
  /// Ends all faults.
  static void heal();

  /// Returns the function that this driver offers: its own, the loader's, or null if there is
  /// none.
  static PFN_vkVoidFunction function(VkInstance instance, const char* name);
  /// Installs another layer in front of this driver: it returns its own functions, and null for
  /// all others. Must be called before the first use of Vulkan.
  using Override = PFN_vkVoidFunction (*)(const char* name);
  static void put_in_front(Override override);
};

}  // namespace rooftile
