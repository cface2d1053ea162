#include "runtime/device/physical/compiler_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "runtime/device/physical/driver_list.h"
#include "runtime/device/physical/profile.h"

namespace rooftile {
namespace {

/// Reads text that a driver may not have terminated with a zero.
template <std::size_t kSize>
std::string text_of(const char (&text)[kSize]) {
  return {text, ::strnlen(text, kSize)};
}

std::optional<CompilerStatistic> statistic_of(const std::string& executable,
                                              const VkPipelineExecutableStatisticKHR& raw) {
  CompilerStatistic statistic{
      .executable = executable, .name = text_of(raw.name), .description = text_of(raw.description)};
  switch (static_cast<int>(raw.format)) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      statistic.value = raw.value.b32 != VK_FALSE;
      return statistic;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      statistic.value = raw.value.i64;
      return statistic;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      statistic.value = raw.value.u64;
      return statistic;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
      if (!std::isfinite(raw.value.f64)) return std::nullopt;
      statistic.value = raw.value.f64;
      return statistic;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool offers_compiler_statistics(const vk::raii::PhysicalDevice& physical,
                                const std::vector<vk::ExtensionProperties>& extensions) {
  if (!has_extension(extensions, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME))
    return false;
  vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables;
  vk::PhysicalDeviceFeatures2 features;
  features.pNext = &executables;
  (*physical).getFeatures2(&features, *physical.getDispatcher());
  return executables.pipelineExecutableInfo != VK_FALSE;
}

std::vector<CompilerStatistic> read_compiler_statistics(VkDevice device, VkPipeline pipeline,
                                                        const StatisticsFunctions& functions) {
  if (functions.properties == nullptr || functions.statistics == nullptr) return {};
  const VkPipelineInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pNext = nullptr, .pipeline = pipeline};
  const auto executables = driver_list<VkPipelineExecutablePropertiesKHR>(
      [&](std::uint32_t* count, VkPipelineExecutablePropertiesKHR* entries) {
        return functions.properties(device, &info, count, entries);
      },
      kMostExecutables, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR);

  std::vector<CompilerStatistic> statistics;
  for (std::uint32_t i = 0; i < executables.size(); ++i) {
    const std::string executable = text_of(executables[i].name);
    const VkPipelineExecutableInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
        .pNext = nullptr,
        .pipeline = pipeline,
        .executableIndex = i};
    const auto entries = driver_list<VkPipelineExecutableStatisticKHR>(
        [&](std::uint32_t* count, VkPipelineExecutableStatisticKHR* values) {
          return functions.statistics(device, &which, count, values);
        },
        kMostStatistics, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR);
    for (const VkPipelineExecutableStatisticKHR& raw : entries)
      if (auto statistic = statistic_of(executable, raw))
        statistics.push_back(std::move(*statistic));
  }
  return statistics;
}

}  // namespace rooftile
