// Devices that the Vulkan drivers of this machine offer.
#pragma once

#include <string>
#include <vector>

#include "core/device_profile.h"

namespace rooftile {

struct Enumeration {
  /// One entry for each deviceUUID: discrete devices first, then integrated, virtual, other,
  /// software.
  std::vector<DeviceProfile> devices;
  std::string note;  ///< Why there is no device, or what was left out; empty when nothing is wrong.
};
/// Lists the devices. A missing or broken driver gives an empty list and a note, never an
/// exception but std::bad_alloc.
Enumeration enumerate_devices();

/// First step of enumerate_devices(): loads the loader and the drivers into the process without
/// starting anything of theirs.
void load_drivers() noexcept;

}  // namespace rooftile
