// SwiftShader, which compiles for ten times as long as lavapipe.
#pragma once

#include "core/device_profile.h"

namespace rooftile {

inline bool is_swiftshader(const DeviceProfile& device) {
  return device.driver_name == "SwiftShader driver";
}

}  // namespace rooftile
