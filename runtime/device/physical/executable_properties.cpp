#include "runtime/device/physical/executable_properties.h"

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

std::vector<CompilerStatistic> statistics_of(VkDevice device,
                                             const VkPipelineExecutableInfoKHR& which,
                                             const std::string& executable,
                                             PFN_vkGetPipelineExecutableStatisticsKHR function) {
  const auto entries = driver_list<VkPipelineExecutableStatisticKHR>(
      [&](std::uint32_t* count, VkPipelineExecutableStatisticKHR* values) {
        return function(device, &which, count, values);
      },
      kMostStatistics, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR);
  std::vector<CompilerStatistic> statistics;
  for (const VkPipelineExecutableStatisticKHR& raw : entries)
    if (auto statistic = statistic_of(executable, raw)) statistics.push_back(std::move(*statistic));
  return statistics;
}

/// The driver gives the sizes first and fills memory of these sizes in a second call.
std::vector<CompilerText> texts_of(VkDevice device, const VkPipelineExecutableInfoKHR& which,
                                   PFN_vkGetPipelineExecutableInternalRepresentationsKHR function) {
  auto entries = driver_list<VkPipelineExecutableInternalRepresentationKHR>(
      [&](std::uint32_t* count, VkPipelineExecutableInternalRepresentationKHR* values) {
        return function(device, &which, count, values);
      },
      kMostTexts, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR);
  std::vector<std::string> memory(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].isText == VK_FALSE) continue;
    memory[i].resize(std::min(entries[i].dataSize, kMostTextBytes));
    entries[i].dataSize = memory[i].size();
    entries[i].pData = memory[i].data();
  }
  auto count = static_cast<std::uint32_t>(entries.size());
  const VkResult result = function(device, &which, &count, entries.data());
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) return {};
  std::vector<CompilerText> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, entries.size()); ++i) {
    if (entries[i].isText == VK_FALSE || memory[i].empty()) continue;
    const std::size_t written = std::min(entries[i].dataSize, memory[i].size());
    memory[i].resize(::strnlen(memory[i].data(), written));
    texts.push_back({.name = text_of(entries[i].name),
                     .description = text_of(entries[i].description),
                     .text = std::move(memory[i])});
  }
  return texts;
}

}  // namespace

bool offers_executable_properties(const vk::raii::PhysicalDevice& physical,
                                  const std::vector<vk::ExtensionProperties>& extensions) {
  if (!has_extension(extensions, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME))
    return false;
  vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables;
  vk::PhysicalDeviceFeatures2 features;
  features.pNext = &executables;
  (*physical).getFeatures2(&features, *physical.getDispatcher());
  return executables.pipelineExecutableInfo != VK_FALSE;
}

std::vector<CompiledExecutable> read_executables(VkDevice device, VkPipeline pipeline,
                                                 const ExecutableFunctions& functions) {
  if (functions.properties == nullptr || functions.statistics == nullptr) return {};
  const VkPipelineInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pNext = nullptr, .pipeline = pipeline};
  const auto properties = driver_list<VkPipelineExecutablePropertiesKHR>(
      [&](std::uint32_t* count, VkPipelineExecutablePropertiesKHR* entries) {
        return functions.properties(device, &info, count, entries);
      },
      kMostExecutables, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR);

  std::vector<CompiledExecutable> executables;
  for (std::uint32_t i = 0; i < properties.size(); ++i) {
    const VkPipelineExecutableInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
        .pNext = nullptr,
        .pipeline = pipeline,
        .executableIndex = i};
    executables.push_back({.name = text_of(properties[i].name),
                           .description = text_of(properties[i].description),
                           .subgroup_size = properties[i].subgroupSize,
                           .statistics = {},
                           .texts = {}});
    CompiledExecutable& executable = executables.back();
    executable.statistics = statistics_of(device, which, executable.name, functions.statistics);
    if (functions.representations != nullptr)
      executable.texts = texts_of(device, which, functions.representations);
  }
  return executables;
}

}  // namespace rooftile
