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
RowId insert_device(Connection& connection, const DeviceProfile& profile);
/// Reads id, device_uuid, vendor_id, product_id, driver_id, driver_version, pipeline_cache_uuid,
/// name, driver_name, driver_info, kind, api_version, memory_bytes, unified_memory, limits,
/// created_at.
DeviceRecord read_device(Sql& sql);
std::vector<DeviceRecord> read_devices(Connection& connection);

}  // namespace rooftile
