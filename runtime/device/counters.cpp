#include "runtime/device/counters.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "runtime/device/device_impl.h"

namespace rooftile {
namespace {

// Intel's drivers have about a thousand: what a driver counts beyond this is not believed.
constexpr std::uint32_t kMostCounters = 4096;
constexpr std::uint64_t kLockTimeoutNs = 1'000'000'000;

/// A driver need not have ended it with a zero.
template <std::size_t kSize>
std::string text_of(const char (&text)[kSize]) {
  return {text, ::strnlen(text, kSize)};
}

/// nullopt: a unit of a later version.
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

/// nullopt: render passes, which nobody dispatches in.
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

/// Held only while something is counted: it may fix the device's clocks, and only one program at a
/// time may have it.
class ProfilingLock {
 public:
  explicit ProfilingLock(Device::Impl& device) : device_(device) {
    const VkAcquireProfilingLockInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACQUIRE_PROFILING_LOCK_INFO_KHR,
        .pNext = nullptr,
        .flags = 0,
        .timeout = kLockTimeoutNs};
    const VkResult result = device.dispatcher().vkAcquireProfilingLockKHR(*device.handle, &info);
    if (result == VK_SUCCESS) return;
    fail(ErrorCode::kUnsupported,
         "{} does not let its counters be read ({}); another program may be reading them, or the "
         "rights may be missing (Intel on Linux: the sysctl dev.i915.perf_stream_paranoid or "
         "dev.xe.observation_paranoid)",
         device.profile().name, vk::to_string(static_cast<vk::Result>(result)));
  }
  ~ProfilingLock() {
    // What is still being counted may not lose it.
    if (!device_.must_leak()) device_.dispatcher().vkReleaseProfilingLockKHR(*device_.handle);
  }
  ProfilingLock(const ProfilingLock&) = delete;
  ProfilingLock& operator=(const ProfilingLock&) = delete;

 private:
  Device::Impl& device_;
};

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
    std::ranges::stable_partition(
        order, [&](std::size_t place) { return choice.first(offered[place].description); });
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

CounterReadings Device::count(std::span<const Step> steps, const CounterChoice& choice,
                              double timeout_ns, CommandList* before_each) {
  impl_->check_usable();
  if (!impl_->counters)
    fail(ErrorCode::kUnsupported, "{} was not opened to read counters, or has none",
         profile().name);
  if (!(timeout_ns > 0))
    fail(ErrorCode::kInvalidArgument, "a timeout of {} ns is not positive", timeout_ns);
  const CounterSource& source = *impl_->counters;
  const std::vector<std::size_t> chosen =
      choose_counters(source.offered, choice, [&](auto indices) { return source.passes(indices); });
  if (chosen.empty())
    fail(ErrorCode::kUnsupported, "none of the {} counters of {} can be read in {} passes",
         source.offered.size(), profile().name, choice.most_passes);
  std::vector<std::uint32_t> indices;
  for (const std::size_t place : chosen) indices.push_back(source.offered[place].index);
  CounterReadings readings{.passes = source.passes(indices)};

  const std::lock_guard counting(impl_->counting);
  // Given back when everything that was recorded under it is gone.
  const ProfilingLock lock(*impl_);
  CommandList list = record_counted(steps, indices);
  for (std::uint32_t pass = 0; pass < readings.passes; ++pass) {
    if (before_each != nullptr) run(*before_each, timeout_ns);
    run_pass(list, pass, timeout_ns);
  }
  const auto [result, values] = impl_->driver("reading counters", [&] {
    const std::size_t bytes = indices.size() * sizeof(VkPerformanceCounterResultKHR);
    return list.impl_->counters.getResults<VkPerformanceCounterResultKHR>(0, 1, bytes, bytes, {});
  });
  if (result != vk::Result::eSuccess)
    fail(ErrorCode::kUnsupported, "the driver of {} has no result of a finished count ({})",
         profile().name, vk::to_string(result));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const OfferedCounter& counter = source.offered[chosen[i]];
    const double value = value_of(counter.storage, values[i]);
    if (!std::isfinite(value)) continue;  // shares of nothing
    readings.counters.push_back(counter.description);
    readings.counters.back().value = value;
  }
  return readings;
}

}  // namespace rooftile
