#include "tests/support/faulty_driver.h"

#include <dlfcn.h>
#include <volk.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace rooftile {
namespace {

using Call = FaultyDriver::Call;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max(),
                        kForever = kUnlimited;  // Vulkan's value for no timeout

struct Plan {
  VkResult result = VK_SUCCESS;  // VK_SUCCESS stands for no fault.
  int good_calls = 0;
  bool once = false;
  int failed = 0;
};

struct State {
  std::mutex mutex;
  std::array<Plan, 6> plans;      // by Call
  std::array<int, 6> calls = {};  // by Call
  double waited_in_vain_ns = 0;
  std::optional<Call> to_hold = {};
  bool held = false;
  std::condition_variable changed;  // notified when to_hold or held changes
  std::uint64_t memory_limit = kUnlimited, memory_in_use = 0;
  int allocations_refused = 0;
  std::unordered_map<VkDeviceMemory, std::uint64_t> allocations;
};

/// Never destroyed, since devices that tests leave open free their memory at the end of the
/// process.
State& state() {
  static State* const only = new State;
  return *only;
}

FaultyDriver::Override& in_front() {
  static FaultyDriver::Override override = nullptr;
  return override;
}

/// Returns the loader's own function, which finds the driver by its handle argument.
template <typename Function>
Function loaders(const char* name) {
  static void* const loader = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  return loader == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(loader, name));
}

/// Counts the call and returns the result that it fails with, or VK_SUCCESS if it has no fault.
VkResult due(Call call) {
  std::unique_lock lock(state().mutex);
  ++state().calls[static_cast<std::size_t>(call)];
  if (state().to_hold == call) {
    state().to_hold.reset();
    state().held = true;
    state().changed.notify_all();
    state().changed.wait(lock, [] { return !state().held; });
  }
  Plan& plan = state().plans[static_cast<std::size_t>(call)];
  if (plan.result == VK_SUCCESS || plan.good_calls-- > 0) return VK_SUCCESS;
  plan.good_calls = 0;
  ++plan.failed;
  return plan.once ? std::exchange(plan.result, VK_SUCCESS) : plan.result;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_physical_devices(VkInstance instance, std::uint32_t* count,
                                                          VkPhysicalDevice* devices) {
  static const auto real = loaders<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
  const VkResult fault = due(Call::kEnumerate);
  return fault != VK_SUCCESS ? fault : real(instance, count, devices);
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                             const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* device) {
  static const auto real = loaders<PFN_vkCreateDevice>("vkCreateDevice");
  const VkResult fault = due(Call::kOpen);
  return fault != VK_SUCCESS ? fault : real(physical, info, allocator, device);
}

VKAPI_ATTR VkResult VKAPI_CALL create_compute_pipelines(VkDevice device, VkPipelineCache cache,
                                                        std::uint32_t count,
                                                        const VkComputePipelineCreateInfo* infos,
                                                        const VkAllocationCallbacks* allocator,
                                                        VkPipeline* pipelines) {
  static const auto real = loaders<PFN_vkCreateComputePipelines>("vkCreateComputePipelines");
  const VkResult fault = due(Call::kCompile);
  if (fault == VK_SUCCESS) return real(device, cache, count, infos, allocator, pipelines);
  for (std::uint32_t i = 0; i < count; ++i) pipelines[i] = VK_NULL_HANDLE;
  return fault;
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, std::uint32_t count,
                                            const VkSubmitInfo* submits, VkFence fence) {
  static const auto real = loaders<PFN_vkQueueSubmit>("vkQueueSubmit");
  const VkResult fault = due(Call::kSubmit);
  return fault != VK_SUCCESS ? fault : real(queue, count, submits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL wait_for_fences(VkDevice device, std::uint32_t count,
                                               const VkFence* fences, VkBool32 all,
                                               std::uint64_t timeout_ns) {
  static const auto real = loaders<PFN_vkWaitForFences>("vkWaitForFences");
  const VkResult result = real(device, count, fences, all, timeout_ns);
  if (result != VK_SUCCESS) return result;
  const VkResult fault = due(timeout_ns == kForever ? Call::kOutlast : Call::kWait);
  const std::lock_guard lock(state().mutex);
  if (fault == VK_TIMEOUT) state().waited_in_vain_ns += static_cast<double>(timeout_ns);
  return fault;
}

VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkDeviceMemory* memory) {
  static const auto real = loaders<PFN_vkAllocateMemory>("vkAllocateMemory");
  const std::uint64_t bytes = info->allocationSize;
  const std::lock_guard lock(state().mutex);
  if (state().memory_in_use > state().memory_limit ||
      bytes > state().memory_limit - state().memory_in_use) {
    ++state().allocations_refused;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  const VkResult result = real(device, info, allocator, memory);
  if (result == VK_SUCCESS) {
    state().memory_in_use += bytes;
    state().allocations[*memory] = bytes;
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                       const VkAllocationCallbacks* allocator) {
  static const auto real = loaders<PFN_vkFreeMemory>("vkFreeMemory");
  const std::lock_guard lock(state().mutex);
  if (const auto known = state().allocations.find(memory); known != state().allocations.end()) {
    state().memory_in_use -= known->second;
    state().allocations.erase(known);
  }
  real(device, memory, allocator);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance,
                                                                const char* name);

/// Returns the function that can fail, or null if this driver does not replace that name.
PFN_vkVoidFunction spoilt(std::string_view name) {
  const auto as_void = [](auto function) { return reinterpret_cast<PFN_vkVoidFunction>(function); };
  if (name == "vkGetInstanceProcAddr") return as_void(&get_instance_proc_addr);
  if (name == "vkGetDeviceProcAddr") return as_void(&get_device_proc_addr);
  if (name == "vkEnumeratePhysicalDevices") return as_void(&enumerate_physical_devices);
  if (name == "vkCreateDevice") return as_void(&create_device);
  if (name == "vkCreateComputePipelines") return as_void(&create_compute_pipelines);
  if (name == "vkQueueSubmit") return as_void(&queue_submit);
  if (name == "vkWaitForFences") return as_void(&wait_for_fences);
  if (name == "vkAllocateMemory") return as_void(&allocate_memory);
  if (name == "vkFreeMemory") return as_void(&free_memory);
  return nullptr;
}

/// Returns the replacing function, or null where the loader's function is used.
PFN_vkVoidFunction offered(const char* name) {
  const PFN_vkVoidFunction first = in_front() != nullptr ? in_front()(name) : nullptr;
  return first != nullptr ? first : spoilt(name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name) {
  static const auto real = loaders<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr");
  const PFN_vkVoidFunction ours = offered(name);
  return ours != nullptr ? ours : real(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance,
                                                                const char* name) {
  static const auto real = loaders<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr");
  const PFN_vkVoidFunction ours = offered(name);
  return ours != nullptr ? ours : real(instance, name);
}

const bool in_place = [] {
  const bool has_loader = loaders<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr") != nullptr;
  // The device layer uses the loader function that volk was given.
  if (has_loader) volkInitializeCustom(get_instance_proc_addr);
  return has_loader;
}();

}  // namespace

void FaultyDriver::fail(Call call, VkResult result, int good_calls) {
  const std::lock_guard lock(state().mutex);
  state().plans[static_cast<std::size_t>(call)] = {.result = result, .good_calls = good_calls};
  state().waited_in_vain_ns = 0;
}

void FaultyDriver::fail_once(Call call, VkResult result) {
  const std::lock_guard lock(state().mutex);
  state().plans[static_cast<std::size_t>(call)] = {.result = result, .once = true};
}

int FaultyDriver::failed(Call call) {
  const std::lock_guard lock(state().mutex);
  return state().plans[static_cast<std::size_t>(call)].failed;
}

int FaultyDriver::calls(Call call) {
  const std::lock_guard lock(state().mutex);
  return state().calls[static_cast<std::size_t>(call)];
}

void FaultyDriver::hold_next(Call call) {
  const std::lock_guard lock(state().mutex);
  state().to_hold = call;
}

void FaultyDriver::await_held() {
  std::unique_lock lock(state().mutex);
  if (!state().changed.wait_for(lock, std::chrono::minutes(1), [] { return state().held; }))
    throw std::runtime_error("waited for a minute in vain until the driver's call is held");
}

double FaultyDriver::waited_in_vain_ns() {
  const std::lock_guard lock(state().mutex);
  return state().waited_in_vain_ns;
}

void FaultyDriver::release(std::optional<Call> then) {
  const std::lock_guard lock(state().mutex);
  state().to_hold = then;
  state().held = false;
  state().changed.notify_all();
}

void FaultyDriver::limit_memory(std::uint64_t bytes) {
  const std::lock_guard lock(state().mutex);
  state().memory_limit = bytes;
}

int FaultyDriver::allocations_refused() {
  const std::lock_guard lock(state().mutex);
  return state().allocations_refused;
}

std::uint64_t FaultyDriver::memory_in_use() {
  const std::lock_guard lock(state().mutex);
  return state().memory_in_use;
}

PFN_vkVoidFunction FaultyDriver::function(VkInstance instance, const char* name) {
  if (const PFN_vkVoidFunction ours = spoilt(name); ours != nullptr) return ours;
  static const auto real = loaders<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr");
  const auto exported = loaders<PFN_vkVoidFunction>(name);
  return exported != nullptr ? exported : real(instance, name);
}

void FaultyDriver::put_in_front(Override override) { in_front() = override; }

void FaultyDriver::heal() {
  const std::lock_guard lock(state().mutex);
  state().plans.fill({});
  state().memory_limit = kUnlimited;
}

}  // namespace rooftile
