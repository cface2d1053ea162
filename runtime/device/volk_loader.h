// Finding the Vulkan loader (libvulkan.so.1) at run time. Private to runtime/device.
#pragma once

#include "runtime/device/vulkan.h"

namespace rooftile {

struct VulkanLoader {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr =
      nullptr;                    // nullptr: there is no loader on this machine
  std::uint32_t api_version = 0;  // as vkEnumerateInstanceVersion says
};
/// Idempotent. Not thread-safe: the caller serialises (volk fills global function pointers).
VulkanLoader load_vulkan();

}  // namespace rooftile
