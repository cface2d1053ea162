// Access to VK_KHR_performance_query. Private to runtime/device.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/device/physical/profile.h"
#include "runtime/device/physical/vulkan.h"

namespace rooftile {

struct OfferedCounter {
  std::uint32_t index = 0;  ///< In the driver's numbering.
  VkPerformanceCounterStorageKHR storage = VK_PERFORMANCE_COUNTER_STORAGE_FLOAT64_KHR;
  PerformanceCounter description;  ///< Without a value.
};

/// Counters of a device's compute queue, and access to the number of passes that they need.
struct CounterSource {
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;
  PFN_vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR passes_function = nullptr;
  std::vector<OfferedCounter> offered;  ///< Counters that can be read around dispatches.

  /// Number of passes of a query of these counters (in the driver's numbering); 0: the query is not
  /// possible.
  std::uint32_t passes(std::span<const std::uint32_t> indices) const;
};

/// Returns no value without the extension, its feature, or a counter that can be read around
/// dispatches on the compute queue's family; counters of render passes cannot.
std::optional<CounterSource> find_counters(const vk::raii::PhysicalDevice& physical,
                                           const PhysicalDetails& details);

/// Returns the ascending indices in `offered` of the counters that one query reads. Those of
/// choice.first are tried before the others.
std::vector<std::size_t> choose_counters(
    const std::vector<OfferedCounter>& offered, const CounterChoice& choice,
    const std::function<std::uint32_t(std::span<const std::uint32_t>)>& passes);

/// NaN for an unknown storage.
double value_of(VkPerformanceCounterStorageKHR storage,
                const VkPerformanceCounterResultKHR& result);

}  // namespace rooftile
