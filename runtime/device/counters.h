// Reading VK_KHR_performance_query. Private to runtime/device.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/device/profile.h"
#include "runtime/device/vulkan.h"

namespace rooftile {

struct OfferedCounter {
  std::uint32_t index = 0;  // as the driver counts them
  VkPerformanceCounterStorageKHR storage = VK_PERFORMANCE_COUNTER_STORAGE_FLOAT64_KHR;
  PerformanceCounter description;  // without a value
};

/// The counters of a device's compute queue, and what tells how many passes some of them take.
struct CounterSource {
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;
  PFN_vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR passes_function = nullptr;
  std::vector<OfferedCounter> offered;  // those that can be read around dispatches

  /// Of a query of these (as the driver counts them); 0: it cannot be made.
  std::uint32_t passes(std::span<const std::uint32_t> indices) const;
};

/// Nothing without the extension, its feature, or a counter that can be read around dispatches on
/// the compute queue's family: those of render passes cannot.
std::optional<CounterSource> find_counters(const vk::raii::PhysicalDevice& physical,
                                           const PhysicalDetails& details);

/// Places in offered, ascending, of the counters that one query shall read; choice.first's are
/// asked for before the others.
std::vector<std::size_t> choose_counters(
    const std::vector<OfferedCounter>& offered, const CounterChoice& choice,
    const std::function<std::uint32_t(std::span<const std::uint32_t>)>& passes);

/// Not a number for a storage that is none.
double value_of(VkPerformanceCounterStorageKHR storage,
                const VkPerformanceCounterResultKHR& result);

}  // namespace rooftile
