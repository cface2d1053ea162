// The only file that includes Vulkan-Hpp, so that its switches are the same everywhere. Private to
// runtime/device.
#pragma once

#define VK_NO_PROTOTYPES  // volk finds the loader at run time; nothing links libvulkan
#define VULKAN_HPP_ENABLE_DYNAMIC_LOADER_TOOL \
  0  // vk::raii::Context takes volk's vkGetInstanceProcAddr instead
#include <vulkan/vulkan_raii.hpp>
