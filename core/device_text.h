// How messages name a device's driver.
#pragma once

#include <string>

#include "core/device_profile.h"

namespace rooftile {

/// The driver's name and its own description, which may begin with the name.
inline std::string driver_of(const DeviceProfile& device) {
  if (device.driver_info.starts_with(device.driver_name)) return device.driver_info;
  return device.driver_name + " " + device.driver_info;
}

}  // namespace rooftile
