// One entry a device, best first. A pure function of values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/device_profile.h"

namespace rooftile {

struct OfferedDevice {
  DeviceProfile profile;
  std::array<std::uint8_t, 4> conformance =
      {};  // version of the conformance tests that the driver passed; zeros: none
};

/// The place of a kind in the order of preference: discrete 0, integrated, virtual, other,
/// software 4.
int rank(DeviceKind kind);

struct OrderedDevices {
  std::vector<DeviceProfile> devices;
  std::string note;  // which offers were dropped, and why
};

/// Two drivers may offer one device (equal device_uuid): the one that passed the newer conformance
/// tests stays, then the newer API version, then the one that the loader listed first. Order: by
/// rank(); within a kind more memory first (of software devices the wider subgroup, then more
/// memory), else as listed.
OrderedDevices order_devices(std::vector<OfferedDevice> offers);

}  // namespace rooftile
