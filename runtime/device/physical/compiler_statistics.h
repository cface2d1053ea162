// Access to VK_KHR_pipeline_executable_properties. Private to runtime/device.
#pragma once

#include <vector>

#include "core/compiler_facts.h"
#include "runtime/device/physical/vulkan.h"

namespace rooftile {

// Plausible limits; larger counts from a driver are ignored.
inline constexpr std::uint32_t kMostExecutables = 16, kMostStatistics = 128;

/// Whether the device offers both the extension and its feature.
bool offers_compiler_statistics(const vk::raii::PhysicalDevice& physical,
                                const std::vector<vk::ExtensionProperties>& extensions);

/// Entry points of a device that was opened with both.
struct StatisticsFunctions {
  PFN_vkGetPipelineExecutablePropertiesKHR properties = nullptr;
  PFN_vkGetPipelineExecutableStatisticsKHR statistics = nullptr;
};

/// Reads the statistics of a pipeline created with VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR.
/// Values that the driver does not provide are left out; nothing depends on them.
std::vector<CompilerStatistic> read_compiler_statistics(VkDevice device, VkPipeline pipeline,
                                                        const StatisticsFunctions& functions);

}  // namespace rooftile
