// Features and extensions that a device is opened with, so that all kernels that it supports are
// legal. Private to runtime/device.
#pragma once

#include <vector>

#include "runtime/device/physical/matrix_units.h"
#include "runtime/device/physical/profile.h"

namespace rooftile {

/// A chain for VkDeviceCreateInfo::pNext, and the extensions that it needs.
class DeviceFeatures {
 public:
  DeviceFeatures(const vk::raii::PhysicalDevice& physical, const PhysicalDetails& details);
  DeviceFeatures(const DeviceFeatures&) = delete;
  DeviceFeatures& operator=(const DeviceFeatures&) = delete;

  /// Valid while *this lives.
  const void* chain() const { return &features_; }
  const std::vector<const char*>& extensions() const { return extensions_; }

 private:
  std::vector<const char*> extensions_;
  // No base feature is enabled: robustBufferAccess costs a check for each load.
  vk::PhysicalDeviceFeatures2 features_;
  vk::PhysicalDeviceSubgroupSizeControlFeatures subgroup_size_;
  vk::PhysicalDeviceShaderFloat16Int8Features small_types_;
  vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT float_atomics_;
  vk::PhysicalDeviceShaderIntegerDotProductFeatures dot_;
  MatrixFeatures matrices_;
};

/// Removes the capabilities that need a later Vulkan version.
void leave_version(PhysicalDetails& details, std::uint32_t api_version);
/// Removes the capabilities that the device was not created with.
void leave_enabled(PhysicalDetails& details, const vk::DeviceCreateInfo& made_with);

}  // namespace rooftile
