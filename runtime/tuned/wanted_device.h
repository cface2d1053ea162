// Selection of devices by user text, and comparison of device profiles.
#pragma once

#include <string>

#include "core/device_profile.h"

namespace rooftile {

/// Whether the text is part of the device's name or UUID, ignoring case. An empty text matches
/// every device.
bool is_wanted(const DeviceProfile& device, const std::string& text);

/// Whether both profiles are of the same device and driver, so that tuning data of one is valid for
/// the other.
bool same_device(const DeviceProfile& x, const DeviceProfile& y);

}  // namespace rooftile
