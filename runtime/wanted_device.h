// Devices as users name them, and as they are found again.
#pragma once

#include <string>

#include "core/device_profile.h"

namespace rooftile {

/// Whether the text is part of its name or UUID, whatever the case; an empty one is of every
/// device.
bool is_wanted(const DeviceProfile& device, const std::string& text);

/// Whether what was tuned for one is the other's: the same device and driver.
bool same_device(const DeviceProfile& x, const DeviceProfile& y);

}  // namespace rooftile
