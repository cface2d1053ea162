// Access to VK_KHR_pipeline_executable_properties. Private to runtime/device.
#pragma once

#include <cstddef>
#include <vector>

#include "core/compiled_executable.h"
#include "runtime/device/physical/vulkan.h"

namespace rooftile {

// Plausible limits; what a driver has beyond them is ignored.
inline constexpr std::uint32_t kMostExecutables = 16, kMostStatistics = 128, kMostTexts = 16;
inline constexpr std::size_t kMostTextBytes = std::size_t{64} << 20;

/// Whether the device offers both the extension and its feature.
bool offers_executable_properties(const vk::raii::PhysicalDevice& physical,
                                  const std::vector<vk::ExtensionProperties>& extensions);

/// Entry points of a device that was opened with both. Without `representations` no texts are read.
struct ExecutableFunctions {
  PFN_vkGetPipelineExecutablePropertiesKHR properties = nullptr;
  PFN_vkGetPipelineExecutableStatisticsKHR statistics = nullptr;
  PFN_vkGetPipelineExecutableInternalRepresentationsKHR representations = nullptr;
};

/// Reads the executables of a pipeline created with VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR,
/// and for texts with VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR. Values and texts
/// that the driver does not provide are left out; nothing depends on them.
std::vector<CompiledExecutable> read_executables(VkDevice device, VkPipeline pipeline,
                                                 const ExecutableFunctions& functions);

}  // namespace rooftile
