// Order of devices: one entry for each device, best first. A pure function of values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/device_profile.h"

namespace rooftile {

struct OfferedDevice {
  DeviceProfile profile;
  /// Version of the conformance tests that the driver passed; zeros: none.
  std::array<std::uint8_t, 4> conformance = {};
};

/// Preference of a kind of device, 0 first: discrete 0, integrated, virtual, other, software 4.
int rank(DeviceKind kind);

struct OrderedDevices {
  std::vector<DeviceProfile> devices;
  std::string note;  ///< Which offers were dropped, and why.
};

/// Removes duplicate offers and sorts the rest.
/// - Two drivers may offer one device (equal device_uuid). The driver that passed the newer
///   conformance tests stays, then the one with the newer API version, then the one that the loader
///   listed first.
/// - Devices are sorted by rank(). Within a kind, more memory comes first (for software devices the
///   wider subgroup, then more memory), else the listed order stays.
OrderedDevices order_devices(std::vector<OfferedDevice> offers);

}  // namespace rooftile
