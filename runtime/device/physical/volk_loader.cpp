#include "runtime/device/physical/volk_loader.h"

// volk's implementation is compiled in this translation unit only.
#define VOLK_IMPLEMENTATION
#include <volk.h>

namespace rooftile {

VulkanLoader load_vulkan() {
  if (vkGetInstanceProcAddr == nullptr && volkInitialize() != VK_SUCCESS) return {};
  return {.get_instance_proc_addr = vkGetInstanceProcAddr, .api_version = volkGetInstanceVersion()};
}

}  // namespace rooftile
