#include "runtime/device/counters.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "runtime/device/physical/driver_list.h"

namespace rooftile {
namespace {

// Plausible limit: Intel's drivers have about a thousand counters.
constexpr std::uint32_t kMostCounters = 4096;

/// Reads text that a driver may not have terminated with a zero.
template <std::size_t kSize>
std::string text_of(const char (&text)[kSize]) {
  return {text, ::strnlen(text, kSize)};
}

/// Returns nullopt for a unit of a later version.
std::optional<std::string> unit_name(VkPerformanceCounterUnitKHR unit) {
  switch (static_cast<int>(unit)) {
    case VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR:
      return "generic";
    case VK_PERFORMANCE_COUNTER_UNIT_PERCENTAGE_KHR:
      return "percent";
    case VK_PERFORMANCE_COUNTER_UNIT_NANOSECONDS_KHR:
      return "ns";
    case VK_PERFORMANCE_COUNTER_UNIT_BYTES_KHR:
      return "bytes";
    case VK_PERFORMANCE_COUNTER_UNIT_BYTES_PER_SECOND_KHR:
      return "bytes/s";
    case VK_PERFORMANCE_COUNTER_UNIT_KELVIN_KHR:
      return "kelvin";
    case VK_PERFORMANCE_COUNTER_UNIT_WATTS_KHR:
      return "watts";
    case VK_PERFORMANCE_COUNTER_UNIT_VOLTS_KHR:
      return "volts";
    case VK_PERFORMANCE_COUNTER_UNIT_AMPS_KHR:
      return "amps";
    case VK_PERFORMANCE_COUNTER_UNIT_HERTZ_KHR:
      return "hertz";
    case VK_PERFORMANCE_COUNTER_UNIT_CYCLES_KHR:
      return "cycles";
    default:
      return std::nullopt;
  }
}

/// Returns nullopt for render passes, in which nothing is dispatched.
std::optional<std::string> scope_name(VkPerformanceCounterScopeKHR scope) {
  switch (static_cast<int>(scope)) {
    case VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR:
      return "command";
    case VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR:
      return "command buffer";
    default:
      return std::nullopt;
  }
}

bool has_query_pools(const vk::raii::PhysicalDevice& physical) {
  vk::PhysicalDevicePerformanceQueryFeaturesKHR queries;
  vk::PhysicalDeviceFeatures2 features;
  features.pNext = &queries;
  (*physical).getFeatures2(&features, *physical.getDispatcher());
  return queries.performanceCounterQueryPools != VK_FALSE;
}

std::vector<OfferedCounter> read_counters(const vk::raii::PhysicalDevice& physical,
                                          std::uint32_t queue_family) {
  const auto enumerate =
      physical.getDispatcher()->vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR;
  std::uint32_t count = 0;
  if (enumerate == nullptr ||
      enumerate(*physical, queue_family, &count, nullptr, nullptr) < VK_SUCCESS)
    return {};
  count = std::min(count, kMostCounters);
  std::vector<VkPerformanceCounterKHR> counters(
      count, {.sType = VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR});
  std::vector<VkPerformanceCounterDescriptionKHR> descriptions(
      count, {.sType = VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR});
  if (count == 0 ||
      enumerate(*physical, queue_family, &count, counters.data(), descriptions.data()) < VK_SUCCESS)
    return {};
  std::vector<OfferedCounter> offered;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(count, counters.size()); ++i) {
    const auto unit = unit_name(counters[i].unit);
    const auto scope = scope_name(counters[i].scope);
    if (!unit || !scope) continue;
    offered.push_back({.index = i,
                       .storage = counters[i].storage,
                       .description = {.name = text_of(descriptions[i].name),
                                       .category = text_of(descriptions[i].category),
                                       .description = text_of(descriptions[i].description),
                                       .unit = *unit,
                                       .scope = *scope}});
  }
  return offered;
}

}  // namespace

std::uint32_t CounterSource::passes(std::span<const std::uint32_t> indices) const {
  const VkQueryPoolPerformanceCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR,
      .pNext = nullptr,
      .queueFamilyIndex = queue_family,
      .counterIndexCount = static_cast<std::uint32_t>(indices.size()),
      .pCounterIndices = indices.data()};
  std::uint32_t passes = 0;
  passes_function(physical, &info, &passes);
  return passes;
}

std::optional<CounterSource> find_counters(const vk::raii::PhysicalDevice& physical,
                                           const PhysicalDetails& details) {
  if (!has_extension(physical.enumerateDeviceExtensionProperties(),
                     VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME) ||
      !has_query_pools(physical))
    return std::nullopt;
  CounterSource source{
      .physical = *physical,
      .queue_family = details.queue_family,
      .passes_function =
          physical.getDispatcher()->vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR,
      .offered = read_counters(physical, details.queue_family)};
  if (source.offered.empty() || source.passes_function == nullptr) return std::nullopt;
  return source;
}

std::vector<std::size_t> choose_counters(
    const std::vector<OfferedCounter>& offered, const CounterChoice& choice,
    const std::function<std::uint32_t(std::span<const std::uint32_t>)>& passes) {
  std::vector<std::size_t> order(offered.size()), chosen;
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (choice.first)
    std::stable_partition(order.begin(), order.end(), [&](std::size_t place) {
      return choice.first(offered[place].description);
    });
  std::vector<std::uint32_t> indices;
  const auto fits = [&] {
    const std::uint32_t needed = passes(indices);
    return needed > 0 && needed <= choice.most_passes;
  };
  for (const std::size_t place : order) indices.push_back(offered[place].index);
  if (!indices.empty() && fits()) {
    chosen = order;
  } else {
    indices.clear();
    for (const std::size_t place : order) {
      indices.push_back(offered[place].index);
      if (fits())
        chosen.push_back(place);
      else
        indices.pop_back();
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

double value_of(VkPerformanceCounterStorageKHR storage,
                const VkPerformanceCounterResultKHR& result) {
  switch (static_cast<int>(storage)) {
    case VK_PERFORMANCE_COUNTER_STORAGE_INT32_KHR:
      return result.int32;
    case VK_PERFORMANCE_COUNTER_STORAGE_INT64_KHR:
      return static_cast<double>(result.int64);
    case VK_PERFORMANCE_COUNTER_STORAGE_UINT32_KHR:
      return result.uint32;
    case VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR:
      return static_cast<double>(result.uint64);
    case VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR:
      return static_cast<double>(result.float32);
    case VK_PERFORMANCE_COUNTER_STORAGE_FLOAT64_KHR:
      return result.float64;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace rooftile
