// Reading a device that the program has opened. Private to runtime/device.
#pragma once

#include "runtime/device/device.h"
#include "runtime/device/profile.h"
#include "runtime/device/vulkan.h"

namespace rooftile {

struct AdoptedDevice {
  PhysicalDetails details;  // as far as the device was made for it
  vk::raii::Device handle;  // to be released, not destroyed
};
/// Throws kInvalidArgument, kUnsupported, or what the driver says.
AdoptedDevice adopt_device(const ForeignDevice& foreign);

}  // namespace rooftile
