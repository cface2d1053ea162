// Loading of the Vulkan loader (libvulkan.so.1) at run time. Private to runtime/device.
#pragma once

#include "runtime/device/physical/vulkan.h"

namespace rooftile {

struct VulkanLoader {
  /// Null: there is no loader on this machine.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  std::uint32_t api_version = 0;  ///< Result of vkEnumerateInstanceVersion.
};
/// Loads the loader. Idempotent. Not thread-safe: the caller serialises calls, because volk fills
/// global function pointers.
VulkanLoader load_vulkan();

}  // namespace rooftile
