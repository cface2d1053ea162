// Adoption of a device that the program has opened. Private to runtime/device.
#pragma once

#include "runtime/device/device.h"
#include "runtime/device/physical/profile.h"
#include "runtime/device/physical/vulkan.h"

namespace rooftile {

struct AdoptedDevice {
  PhysicalDetails details;  ///< Restricted to what the device was created with.
  vk::raii::Device handle;  ///< Must be released, not destroyed.
};
/// Throws kInvalidArgument, kUnsupported, or the driver's error.
AdoptedDevice adopt_device(const ForeignDevice& foreign);

}  // namespace rooftile
