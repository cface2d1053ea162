// A Vulkan driver that fails on command. Linked into a test program it stands between the library
// and the loader, from the first use of Vulkan on; whatever it is not told to spoil goes through.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <optional>

namespace rooftile {

/// Of the whole process. Thread-safe.
class FaultyDriver {
 public:
  enum class Call : std::uint8_t {
    kEnumerate,  // vkEnumeratePhysicalDevices
    kOpen,       // vkCreateDevice
    kCompile,    // vkCreateComputePipelines
    kSubmit,     // vkQueueSubmit
    kWait,       // vkWaitForFences; what was submitted has ended all the same
    kOutlast,    // the same, for ever
  };
  /// All such calls end so, but for the next few.
  static void fail(Call call, VkResult result, int good_calls = 0);
  static void fail_once(Call call, VkResult result);
  static int failed(Call call);  // since then
  static int calls(Call call);   // since the program began
  /// The next such call stands still before it goes through, until it is released.
  static void hold_next(Call call);
  static void await_held();  // until it has come
  /// It, or whatever would be the next; from then on that one is held.
  static void release(std::optional<Call> then = {});
  /// The time that waits were given that have failed with VK_TIMEOUT, since fail().
  static double waited_in_vain_ns();
  /// Allocations fail that would make it more, over all devices.
  static void limit_memory(std::uint64_t bytes);
  static std::uint64_t memory_in_use();
  /// Nothing fails any more.
  static void heal();

  /// A driver's function, as this one offers it: spoilt, or the loader's. Null: there is none.
  static PFN_vkVoidFunction function(VkInstance instance, const char* name);
  /// Stands in front of that from now on, for the functions that it answers for; null for others.
  /// To be called before the first use of Vulkan.
  using Override = PFN_vkVoidFunction (*)(const char* name);
  static void put_in_front(Override override);
};

}  // namespace rooftile
