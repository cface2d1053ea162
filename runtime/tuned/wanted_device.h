// Selection of devices by user text, comparison of device profiles, and the device of a profile.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/device_profile.h"
#include "runtime/device/device.h"

namespace rooftile {

/// Whether the text is part of the device's name or UUID, ignoring case. An empty text matches
/// every device.
bool is_wanted(const DeviceProfile& device, const std::string& text);

/// Whether both are of one vendor and product: the same card with any driver, or an equal one.
bool same_product(const DeviceProfile& x, const DeviceProfile& y);

/// The same, and both under one driver, of any version.
bool same_product_and_driver(const DeviceProfile& x, const DeviceProfile& y);

/// Whether both profiles are of the same device and driver, so that tuning data of one is valid for
/// the other.
bool same_device(const DeviceProfile& x, const DeviceProfile& y);

/// Opens the device with this profile. Throws kDevice when the device is absent or has changed or
/// the process is ending, and whatever Device::open throws.
std::shared_ptr<Device> open_tuned_device(const DeviceProfile& profile,
                                          const std::filesystem::path& cache_folder);

}  // namespace rooftile
