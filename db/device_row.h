// A device's row: identity, and what is kept up to date besides. Inside db/ only.
#pragma once

#include <optional>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

namespace rooftile {

std::optional<RowId> find_device_row(Connection& connection, const DeviceProfile& profile);
/// Row of this device and driver, inserted when new, its descriptive columns updated when they
/// differ.
RowId store_device(Connection& connection, const DeviceProfile& profile);
std::vector<DeviceRecord> read_devices(Connection& connection);

}  // namespace rooftile
