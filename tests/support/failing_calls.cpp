#include "tests/support/failing_calls.h"

#include <array>
#include <atomic>
#include <limits>
#include <string_view>

namespace rooftile {
namespace {

constexpr int kNever = std::numeric_limits<int>::max();
std::atomic<int> counted = 0, failing_at = kNever;
std::atomic<int> interrupted_at = kNever;
std::function<void()> event_then;  // Set while no call is made.
std::atomic<bool> recovers = false;
std::atomic<VkResult> result_of_failure = VK_SUCCESS;
std::atomic<const char*> failed_first = "";

/// The result that the call is to return without reaching the driver; VK_SUCCESS: it is passed on.
VkResult planned(const char* name) {
  const int n = counted++, at = failing_at;
  if (n == interrupted_at) event_then();
  if (n < at || (n > at && recovers)) return VK_SUCCESS;
  if (n == at) failed_first = name;
  return result_of_failure;
}

constexpr bool is_wait(std::string_view name) {
  return name == "vkWaitForFences" || name == "vkQueueWaitIdle" || name == "vkDeviceWaitIdle";
}

template <typename Function>
struct Wrapped;
template <typename... Arguments>
struct Wrapped<VkResult(VKAPI_PTR*)(Arguments...)> {
  using Function = VkResult(VKAPI_PTR*)(Arguments...);
  template <typename Name>
  static VKAPI_ATTR VkResult VKAPI_CALL call(Arguments... arguments) {
    static const auto next =
        reinterpret_cast<Function>(FaultyDriver::function(VK_NULL_HANDLE, Name::text));
    const VkResult result = planned(Name::text);
    // Work that was submitted ends in any case, because a lost device does nothing more.
    if (result == VK_SUCCESS || is_wait(Name::text)) {
      const VkResult real = next(arguments...);
      if (result == VK_SUCCESS) return real;
    }
    return result;
  }
};

struct Entry {
  std::string_view name;
  PFN_vkVoidFunction function;
};

// A name as a type, so that each function has a wrapper of its own.
#define ROOFTILE_FUNCTIONS(X)                                                                      \
  X(vkCreateInstance)                                                                              \
  X(vkEnumeratePhysicalDevices)                                                                    \
  X(vkEnumerateDeviceExtensionProperties)                                                          \
  X(vkCreateDevice) X(vkAllocateMemory) X(vkMapMemory) X(vkFlushMappedMemoryRanges)                \
      X(vkInvalidateMappedMemoryRanges) X(vkBindBufferMemory) X(vkBindBufferMemory2)               \
          X(vkCreateBuffer) X(vkCreateBufferView) X(vkCreateShaderModule) X(vkCreatePipelineCache) \
              X(vkGetPipelineCacheData) X(vkCreateComputePipelines) X(vkCreatePipelineLayout)      \
                  X(vkCreateDescriptorSetLayout) X(vkCreateDescriptorPool)                         \
                      X(vkResetDescriptorPool) X(vkAllocateDescriptorSets) X(vkFreeDescriptorSets) \
                          X(vkCreateCommandPool) X(vkResetCommandPool) X(vkAllocateCommandBuffers) \
                              X(vkBeginCommandBuffer) X(vkEndCommandBuffer)                        \
                                  X(vkResetCommandBuffer) X(vkCreateFence) X(vkResetFences)        \
                                      X(vkGetFenceStatus) X(vkWaitForFences) X(vkCreateSemaphore)  \
                                          X(vkCreateEvent) X(vkCreateQueryPool)                    \
                                              X(vkGetQueryPoolResults) X(vkQueueSubmit)            \
                                                  X(vkQueueWaitIdle) X(vkDeviceWaitIdle)

#define ROOFTILE_NAME(function)                    \
  struct Name_##function {                         \
    static constexpr const char* text = #function; \
  };
ROOFTILE_FUNCTIONS(ROOFTILE_NAME)

#define ROOFTILE_ENTRY(function)                         \
  Entry{#function, reinterpret_cast<PFN_vkVoidFunction>( \
                       &Wrapped<PFN_##function>::template call<Name_##function>)},
const std::array kEntries = {ROOFTILE_FUNCTIONS(ROOFTILE_ENTRY)};

PFN_vkVoidFunction failing(const char* name) {
  for (const Entry& entry : kEntries)
    if (entry.name == name) return entry.function;
  return nullptr;
}

const bool in_place = [] {
  FaultyDriver::put_in_front(&failing);
  return true;
}();

}  // namespace

void FailingCalls::fail_at(int n, VkResult result, Then then) {
  heal();
  counted = 0;
  failed_first = "";
  result_of_failure = result;
  recovers = then == Then::kRecovers;
  failing_at = n;
}

void FailingCalls::interrupt_at(int n, std::function<void()> event) {
  heal();
  counted = 0;
  event_then = std::move(event);
  interrupted_at = n;
}

void FailingCalls::heal() { failing_at = interrupted_at = kNever; }

int FailingCalls::calls() { return counted; }

const char* FailingCalls::first_to_fail() { return failed_first; }

}  // namespace rooftile
