// What a device is opened with so that its kernels can be all that they may be. Private to
// runtime/device.
#pragma once

#include <vector>

#include "runtime/device/matrix_units.h"
#include "runtime/device/profile.h"

namespace rooftile {

/// A chain for VkDeviceCreateInfo::pNext, and the extensions that belong to it.
class DeviceFeatures {
 public:
  DeviceFeatures(const vk::raii::PhysicalDevice& physical, const PhysicalDetails& details);
  DeviceFeatures(const DeviceFeatures&) = delete;
  DeviceFeatures& operator=(const DeviceFeatures&) = delete;

  /// Lives while *this does.
  const void* chain() const { return &features_; }
  const std::vector<const char*>& extensions() const { return extensions_; }

 private:
  std::vector<const char*> extensions_;
  // None of the base ones: robustBufferAccess costs a check per load.
  vk::PhysicalDeviceFeatures2 features_;
  vk::PhysicalDeviceSubgroupSizeControlFeatures subgroup_size_;
  vk::PhysicalDeviceShaderFloat16Int8Features small_types_;
  vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT float_atomics_;
  vk::PhysicalDeviceShaderIntegerDotProductFeatures dot_;
  MatrixFeatures matrices_;
};

/// Takes from what is known of a device whatever needs a later Vulkan.
void leave_version(PhysicalDetails& details, std::uint32_t api_version);
/// Takes from it whatever it was not made with.
void leave_enabled(PhysicalDetails& details, const vk::DeviceCreateInfo& made_with);

}  // namespace rooftile
