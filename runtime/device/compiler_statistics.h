// Reading VK_KHR_pipeline_executable_properties. Private to runtime/device.
#pragma once

#include <vector>

#include "core/compiler_facts.h"
#include "runtime/device/vulkan.h"

namespace rooftile {

// Nobody has more: what a driver counts beyond these is not believed.
inline constexpr std::uint32_t kMostExecutables = 16, kMostStatistics = 128;

/// Extension and feature.
bool offers_compiler_statistics(const vk::raii::PhysicalDevice& physical,
                                const std::vector<vk::ExtensionProperties>& extensions);

/// Entry points of a device that was opened with both.
struct StatisticsFunctions {
  PFN_vkGetPipelineExecutablePropertiesKHR properties = nullptr;
  PFN_vkGetPipelineExecutableStatisticsKHR statistics = nullptr;
};

/// Of a pipeline made with VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR. What a driver cannot or
/// will not say is left out: nothing depends on it.
std::vector<CompilerStatistic> read_compiler_statistics(VkDevice device, VkPipeline pipeline,
                                                        const StatisticsFunctions& functions);

}  // namespace rooftile
