// The device of tests that need one and do not mind which.
#pragma once

#include <stdexcept>

#include "runtime/device/device.h"

namespace rooftile {

/// Returns the first device of enumerate_devices(). Where there is none, it throws, which fails the
/// test.
inline DeviceProfile first_device() {
  const Enumeration found = enumerate_devices();
  if (found.devices.empty()) throw std::runtime_error("no Vulkan device: " + found.note);
  return found.devices.front();
}

}  // namespace rooftile
