#include "tests/support/counting_driver.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "tests/support/faulty_driver.h"

namespace rooftile {
namespace {

using Fault = CountingDriver::Fault;
constexpr std::uint32_t kPerPass = 2;  // counters that one pass can count

struct Counter {
  const char* name;
  const char* category;
  VkPerformanceCounterUnitKHR unit;
  VkPerformanceCounterScopeKHR scope;
  VkPerformanceCounterStorageKHR storage;
};
constexpr std::array kCounters = {
    Counter{"Waves", "Shaders", VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR,
            VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR, VK_PERFORMANCE_COUNTER_STORAGE_INT64_KHR},
    Counter{"Frame time", "Graphics", VK_PERFORMANCE_COUNTER_UNIT_NANOSECONDS_KHR,
            VK_PERFORMANCE_COUNTER_SCOPE_RENDER_PASS_KHR,
            VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR},
    Counter{"VALU Busy", "Shader Utilization", VK_PERFORMANCE_COUNTER_UNIT_PERCENTAGE_KHR,
            VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR, VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR},
    Counter{"GPU active cycles", "GRBM", VK_PERFORMANCE_COUNTER_UNIT_CYCLES_KHR,
            VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR,
            VK_PERFORMANCE_COUNTER_STORAGE_UINT32_KHR},
    Counter{"Hits of nothing", "Memory", VK_PERFORMANCE_COUNTER_UNIT_PERCENTAGE_KHR,
            VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR, VK_PERFORMANCE_COUNTER_STORAGE_FLOAT64_KHR},
    Counter{"VRAM read size", "Memory", VK_PERFORMANCE_COUNTER_UNIT_BYTES_KHR,
            VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR, VK_PERFORMANCE_COUNTER_STORAGE_FLOAT64_KHR},
    Counter{"VRAM write size", "Memory", VK_PERFORMANCE_COUNTER_UNIT_BYTES_KHR,
            VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR,
            VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR},
    Counter{"Headroom", "Thermal", VK_PERFORMANCE_COUNTER_UNIT_KELVIN_KHR,
            VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR, VK_PERFORMANCE_COUNTER_STORAGE_INT32_KHR},
};

VkPerformanceCounterResultKHR result_of(std::size_t counter, std::uint64_t workgroups) {
  const auto groups = static_cast<double>(workgroups);
  VkPerformanceCounterResultKHR result = {};
  switch (counter) {
    case 0:
      result.int64 = static_cast<std::int64_t>(workgroups);
      break;
    case 2:
      result.float32 = 87.5f;
      break;
    case 3:
      result.uint32 = static_cast<std::uint32_t>(kCountedCycles * groups);
      break;
    case 4:
      result.float64 = std::numeric_limits<double>::quiet_NaN();
      break;
    case 5:
      result.float64 = kCountedReadBytes * groups;
      break;
    case 6:
      result.uint64 = static_cast<std::uint64_t>(kCountedWrittenBytes * groups);
      break;
    case 7:
      result.int32 = -40;
      break;
    default:
      result.uint32 = static_cast<std::uint32_t>(counter);
  }
  return result;
}

struct Pool {
  std::vector<std::uint32_t> counters;
  bool reset = false;
  std::vector<std::optional<std::uint64_t>> workgroups;  // submitted workgroups, by pass
};

/// Properties of a recorded command buffer that the checks need.
struct Commands {
  int commands = 0;  // number of recorded commands
  Pool* resets = nullptr;
  Pool* counts = nullptr;
  bool open = false;  // A query is between its begin and its end.
  bool ended = false;
  std::uint64_t workgroups = 0;
};

struct State {
  std::mutex mutex;
  Fault fault = Fault::kNone;
  int more_counters = 0, locks_taken = 0, locks_held = 0;
  std::set<Pool*> pools;
  std::map<VkCommandBuffer, Commands> commands;
  std::vector<std::string> violations;
};

Fault fault_of_environment() {
  const char* text = std::getenv("ROOFTILE_TEST_COUNTERS");
  const std::string_view name = text != nullptr ? text : "";
  if (name == "absent") return Fault::kAbsent;
  if (name == "lock_refused") return Fault::kLockRefused;
  if (name == "not_ready") return Fault::kNotReady;
  if (name == "lost") return Fault::kLost;
  if (name == "crash") return Fault::kCrash;
  if (name == "hang") return Fault::kHang;
  return Fault::kNone;
}

/// Never destroyed, like the state of the faulty driver.
State& state() {
  static State* const only = [] {
    State* made = new State;
    made->fault = fault_of_environment();
    return made;
  }();
  return *only;
}

/// Records a violation of the rule if the condition is false. The caller holds the mutex.
void require(bool condition, const char* rule) {
  if (!condition) state().violations.emplace_back(rule);
}

std::size_t counter_count() {
  return kCounters.size() + static_cast<std::size_t>(state().more_counters);
}

std::uint32_t passes_of(const std::vector<std::uint32_t>& counters) {
  std::uint32_t few = 0, more = 0;
  for (const std::uint32_t counter : counters) ++(counter < kCounters.size() ? few : more);
  return (few + kPerPass - 1) / kPerPass + more;
}

std::uint32_t pass_of(const std::vector<std::uint32_t>& counters, std::size_t position) {
  return passes_of(
             {counters.begin(), counters.begin() + static_cast<std::ptrdiff_t>(position) + 1}) -
         1;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(FaultyDriver::function(VK_NULL_HANDLE, name));
}

VkQueryPool handle_of(Pool* pool) { return reinterpret_cast<VkQueryPool>(pool); }

/// Returns null if the pool belongs to the real driver. The caller holds the mutex.
Pool* pool_of(VkQueryPool handle) {
  Pool* pool = reinterpret_cast<Pool*>(handle);
  return state().pools.contains(pool) ? pool : nullptr;
}

template <typename Structure>
Structure* find_in_chain(const void* chain, VkStructureType type) {
  for (auto* link = static_cast<const VkBaseInStructure*>(chain); link != nullptr;
       link = link->pNext)
    if (link->sType == type)
      return reinterpret_cast<Structure*>(const_cast<VkBaseInStructure*>(link));
  return nullptr;
}

// ---- Extensions and features ----

VKAPI_ATTR VkResult VKAPI_CALL enumerate_extensions(VkPhysicalDevice physical, const char* layer,
                                                    std::uint32_t* count,
                                                    VkExtensionProperties* extensions) {
  static const auto real =
      next<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
  if (layer != nullptr || state().fault == Fault::kAbsent)
    return real(physical, layer, count, extensions);
  std::uint32_t theirs = 0;
  real(physical, nullptr, &theirs, nullptr);
  std::vector<VkExtensionProperties> all(theirs);
  real(physical, nullptr, &theirs, all.data());
  VkExtensionProperties ours = {};
  std::strcpy(ours.extensionName, VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
  ours.specVersion = 1;
  all.push_back(ours);
  const auto size = static_cast<std::uint32_t>(all.size());
  if (extensions == nullptr) {
    *count = size;
    return VK_SUCCESS;
  }
  *count = std::min(*count, size);
  std::copy_n(all.begin(), *count, extensions);
  return *count < size ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice physical,
                                        VkPhysicalDeviceFeatures2* features) {
  static const auto real = next<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2");
  real(physical, features);
  if (auto* ours = find_in_chain<VkPhysicalDevicePerformanceQueryFeaturesKHR>(
          features->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR))
    ours->performanceCounterQueryPools = state().fault != Fault::kAbsent;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_counters(
    VkPhysicalDevice, std::uint32_t, std::uint32_t* count, VkPerformanceCounterKHR* counters,
    VkPerformanceCounterDescriptionKHR* descriptions) {
  const std::lock_guard lock(state().mutex);
  const auto size = static_cast<std::uint32_t>(counter_count());
  if (counters == nullptr && descriptions == nullptr) {
    *count = size;
    return VK_SUCCESS;
  }
  *count = std::min(*count, size);
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::string filler = "Counter " + std::to_string(i);
    const Counter counter =
        i < kCounters.size()
            ? kCounters[i]
            : Counter{filler.c_str(), "More", VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR,
                      VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR,
                      VK_PERFORMANCE_COUNTER_STORAGE_UINT32_KHR};
    if (counters != nullptr) {
      counters[i].unit = counter.unit;
      counters[i].scope = counter.scope;
      counters[i].storage = counter.storage;
    }
    if (descriptions != nullptr) {
      std::strcpy(descriptions[i].name, counter.name);
      std::strcpy(descriptions[i].category, counter.category);
      std::strcpy(descriptions[i].description, (std::string("what ") + counter.name).c_str());
    }
  }
  return *count < size ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL get_passes(VkPhysicalDevice,
                                      const VkQueryPoolPerformanceCreateInfoKHR* info,
                                      std::uint32_t* passes) {
  *passes = passes_of({info->pCounterIndices, info->pCounterIndices + info->counterIndexCount});
}

/// Removes the extension and its features, which the real driver would refuse.
VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                             const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* device) {
  static const auto real = next<PFN_vkCreateDevice>("vkCreateDevice");
  VkDeviceCreateInfo below = *info;
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  std::erase_if(extensions, [](std::string_view name) {
    return name == VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME;
  });
  below.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  below.ppEnabledExtensionNames = extensions.data();
  const auto ours = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR;
  auto* link = reinterpret_cast<VkBaseInStructure*>(&below);
  const VkBaseInStructure* taken = nullptr;
  while (link->pNext != nullptr && taken == nullptr) {
    if (link->pNext->sType == ours)
      taken = std::exchange(link->pNext, link->pNext->pNext);
    else
      link = const_cast<VkBaseInStructure*>(link->pNext);
  }
  const VkResult result = real(physical, &below, allocator, device);
  if (taken != nullptr) link->pNext = taken;
  return result;
}

// ---- The profiling lock ----

VKAPI_ATTR VkResult VKAPI_CALL acquire_lock(VkDevice, const VkAcquireProfilingLockInfoKHR*) {
  const std::lock_guard lock(state().mutex);
  if (state().fault == Fault::kLockRefused) return VK_TIMEOUT;
  require(state().locks_held == 0, "the lock is taken twice");
  ++state().locks_taken;
  ++state().locks_held;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL release_lock(VkDevice) {
  const std::lock_guard lock(state().mutex);
  require(state().locks_held == 1, "a lock is released that is not held");
  require(state().pools.empty(), "the lock is released while a query pool is alive");
  --state().locks_held;
}

// ---- Query pools and recorded commands ----

VKAPI_ATTR VkResult VKAPI_CALL create_query_pool(VkDevice device, const VkQueryPoolCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator,
                                                 VkQueryPool* pool) {
  static const auto real = next<PFN_vkCreateQueryPool>("vkCreateQueryPool");
  if (info->queryType != VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR)
    return real(device, info, allocator, pool);
  const auto* chosen = find_in_chain<VkQueryPoolPerformanceCreateInfoKHR>(
      info->pNext, VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR);
  const std::lock_guard lock(state().mutex);
  require(chosen != nullptr && chosen->counterIndexCount > 0, "a pool without counters");
  Pool* made = new Pool;
  if (chosen != nullptr)
    made->counters.assign(chosen->pCounterIndices,
                          chosen->pCounterIndices + chosen->counterIndexCount);
  for (const std::uint32_t counter : made->counters)
    require(counter < counter_count(), "a counter that is not offered");
  made->workgroups.resize(passes_of(made->counters));
  state().pools.insert(made);
  *pool = handle_of(made);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_query_pool(VkDevice device, VkQueryPool handle,
                                              const VkAllocationCallbacks* allocator) {
  static const auto real = next<PFN_vkDestroyQueryPool>("vkDestroyQueryPool");
  const std::lock_guard lock(state().mutex);
  Pool* pool = pool_of(handle);
  if (pool == nullptr) return real(device, handle, allocator);
  state().pools.erase(pool);
  delete pool;
}

VKAPI_ATTR VkResult VKAPI_CALL begin_commands(VkCommandBuffer commands,
                                              const VkCommandBufferBeginInfo* info) {
  static const auto real = next<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer");
  const std::lock_guard lock(state().mutex);
  state().commands[commands] = {};
  return real(commands, info);
}

/// Notes a command, which must not follow the end of a query. The caller holds the mutex.
Commands& note_command(VkCommandBuffer commands) {
  Commands& noted = state().commands[commands];
  require(!noted.ended, "a command behind the end of a query of command buffers");
  ++noted.commands;
  return noted;
}

VKAPI_ATTR void VKAPI_CALL cmd_reset(VkCommandBuffer commands, VkQueryPool handle,
                                     std::uint32_t first, std::uint32_t count) {
  static const auto real = next<PFN_vkCmdResetQueryPool>("vkCmdResetQueryPool");
  const std::lock_guard lock(state().mutex);
  Commands& noted = note_command(commands);
  Pool* pool = pool_of(handle);
  if (pool == nullptr) return real(commands, handle, first, count);
  require(state().locks_held == 1, "a reset is recorded without the lock");
  require(noted.counts == nullptr, "a query is reset in its own command buffer");
  noted.resets = pool;
}

VKAPI_ATTR void VKAPI_CALL cmd_begin_query(VkCommandBuffer commands, VkQueryPool handle,
                                           std::uint32_t query, VkQueryControlFlags flags) {
  static const auto real = next<PFN_vkCmdBeginQuery>("vkCmdBeginQuery");
  const std::lock_guard lock(state().mutex);
  Pool* pool = pool_of(handle);
  if (pool == nullptr) {
    note_command(commands);
    return real(commands, handle, query, flags);
  }
  Commands& noted = state().commands[commands];
  require(state().locks_held == 1, "a query is recorded without the lock");
  require(noted.commands == 0, "a query of command buffers is not their first command");
  require(noted.resets == nullptr, "a query is reset in its own command buffer");
  noted.counts = pool;
  noted.open = true;
}

VKAPI_ATTR void VKAPI_CALL cmd_end_query(VkCommandBuffer commands, VkQueryPool handle,
                                         std::uint32_t query) {
  static const auto real = next<PFN_vkCmdEndQuery>("vkCmdEndQuery");
  const std::lock_guard lock(state().mutex);
  if (pool_of(handle) == nullptr) {
    note_command(commands);
    return real(commands, handle, query);
  }
  Commands& noted = state().commands[commands];
  require(noted.open, "a query ends that has not begun");
  noted.open = false;
  noted.ended = true;
}

VKAPI_ATTR void VKAPI_CALL cmd_dispatch(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y,
                                        std::uint32_t z) {
  static const auto real = next<PFN_vkCmdDispatch>("vkCmdDispatch");
  {
    const std::lock_guard lock(state().mutex);
    Commands& noted = note_command(commands);
    if (noted.open) noted.workgroups += std::uint64_t{x} * y * z;
  }
  real(commands, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL cmd_bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                             VkPipeline pipeline) {
  static const auto real = next<PFN_vkCmdBindPipeline>("vkCmdBindPipeline");
  {
    const std::lock_guard lock(state().mutex);
    note_command(commands);
  }
  real(commands, point, pipeline);
}

VKAPI_ATTR void VKAPI_CALL cmd_barrier(VkCommandBuffer commands, VkPipelineStageFlags before,
                                       VkPipelineStageFlags behind, VkDependencyFlags flags,
                                       std::uint32_t memories, const VkMemoryBarrier* memory,
                                       std::uint32_t buffers, const VkBufferMemoryBarrier* buffer,
                                       std::uint32_t images, const VkImageMemoryBarrier* image) {
  static const auto real = next<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier");
  {
    const std::lock_guard lock(state().mutex);
    note_command(commands);
  }
  real(commands, before, behind, flags, memories, memory, buffers, buffer, images, image);
}

// ---- Submissions and results ----

/// The caller holds the mutex.
void execute(Commands& commands, std::uint32_t pass) {
  if (commands.resets != nullptr) {
    commands.resets->reset = true;
    std::ranges::fill(commands.resets->workgroups, std::nullopt);
  }
  if (commands.counts == nullptr) return;
  Pool& pool = *commands.counts;
  require(commands.ended, "a query that has no end is submitted");
  require(state().locks_held == 1, "a query is submitted without the lock");
  require(pool.reset, "a query is submitted before it is reset");
  require(pass < pool.workgroups.size(), "a pass that the query does not have");
  if (pass >= pool.workgroups.size()) return;
  require(!pool.workgroups[pass], "a pass is submitted twice");
  pool.workgroups[pass] = commands.workgroups;
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, std::uint32_t count,
                                            const VkSubmitInfo* submits, VkFence fence) {
  static const auto real = next<PFN_vkQueueSubmit>("vkQueueSubmit");
  {
    const std::lock_guard lock(state().mutex);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto* counted = find_in_chain<VkPerformanceQuerySubmitInfoKHR>(
          submits[i].pNext, VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);
      if (counted != nullptr && state().fault == Fault::kLost) return VK_ERROR_DEVICE_LOST;
      if (counted != nullptr && state().fault == Fault::kCrash) {
        std::signal(SIGSEGV, SIG_DFL);  // A sanitizer's handler would end the process otherwise.
        std::raise(SIGSEGV);
      }
      while (counted != nullptr && state().fault == Fault::kHang) ::pause();
      for (std::uint32_t j = 0; j < submits[i].commandBufferCount; ++j)
        if (const auto known = state().commands.find(submits[i].pCommandBuffers[j]);
            known != state().commands.end())
          execute(known->second, counted != nullptr ? counted->counterPassIndex : 0);
    }
  }
  return real(queue, count, submits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL get_results(VkDevice device, VkQueryPool handle, std::uint32_t first,
                                           std::uint32_t count, std::size_t bytes, void* data,
                                           VkDeviceSize stride, VkQueryResultFlags flags) {
  static const auto real = next<PFN_vkGetQueryPoolResults>("vkGetQueryPoolResults");
  const std::lock_guard lock(state().mutex);
  Pool* pool = pool_of(handle);
  if (pool == nullptr) return real(device, handle, first, count, bytes, data, stride, flags);
  require(flags == 0 || flags == VK_QUERY_RESULT_WAIT_BIT, "flags that are not for counters");
  require(stride % sizeof(VkPerformanceCounterResultKHR) == 0 &&
              stride >= pool->counters.size() * sizeof(VkPerformanceCounterResultKHR) &&
              bytes >= stride,
          "no room for all counters");
  if (!state().violations.empty()) return VK_ERROR_UNKNOWN;
  if (state().fault == Fault::kNotReady) return VK_NOT_READY;
  auto* results = static_cast<VkPerformanceCounterResultKHR*>(data);
  for (std::size_t i = 0; i < pool->counters.size(); ++i) {
    const auto& workgroups = pool->workgroups[pass_of(pool->counters, i)];
    if (!workgroups) return VK_NOT_READY;
    results[i] = result_of(pool->counters[i], *workgroups);
  }
  return VK_SUCCESS;
}

PFN_vkVoidFunction counting(const char* wanted) {
  const std::string_view name = wanted;
  const auto as_void = [](auto function) { return reinterpret_cast<PFN_vkVoidFunction>(function); };
  if (name == "vkEnumerateDeviceExtensionProperties") return as_void(&enumerate_extensions);
  if (name == "vkGetPhysicalDeviceFeatures2") return as_void(&get_features);
  if (name == "vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR")
    return as_void(&enumerate_counters);
  if (name == "vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR")
    return as_void(&get_passes);
  if (name == "vkCreateDevice") return as_void(&create_device);
  if (name == "vkAcquireProfilingLockKHR") return as_void(&acquire_lock);
  if (name == "vkReleaseProfilingLockKHR") return as_void(&release_lock);
  if (name == "vkCreateQueryPool") return as_void(&create_query_pool);
  if (name == "vkDestroyQueryPool") return as_void(&destroy_query_pool);
  if (name == "vkBeginCommandBuffer") return as_void(&begin_commands);
  if (name == "vkCmdResetQueryPool") return as_void(&cmd_reset);
  if (name == "vkCmdBeginQuery") return as_void(&cmd_begin_query);
  if (name == "vkCmdEndQuery") return as_void(&cmd_end_query);
  if (name == "vkCmdDispatch") return as_void(&cmd_dispatch);
  if (name == "vkCmdBindPipeline") return as_void(&cmd_bind_pipeline);
  if (name == "vkCmdPipelineBarrier") return as_void(&cmd_barrier);
  if (name == "vkQueueSubmit") return as_void(&queue_submit);
  if (name == "vkGetQueryPoolResults") return as_void(&get_results);
  return nullptr;
}

const bool in_place = [] {
  FaultyDriver::put_in_front(&counting);
  return true;
}();

}  // namespace

void CountingDriver::set(Fault fault) {
  const std::lock_guard lock(state().mutex);
  state().fault = fault;
}

void CountingDriver::set_more_counters(int counters) {
  const std::lock_guard lock(state().mutex);
  state().more_counters = counters;
}

int CountingDriver::locks_taken() {
  const std::lock_guard lock(state().mutex);
  return state().locks_taken;
}

int CountingDriver::locks_held() {
  const std::lock_guard lock(state().mutex);
  return state().locks_held;
}

int CountingDriver::query_pools() {
  const std::lock_guard lock(state().mutex);
  return static_cast<int>(state().pools.size());
}

std::vector<std::string> CountingDriver::violations() {
  const std::lock_guard lock(state().mutex);
  return state().violations;
}

}  // namespace rooftile
