// Rows of the devices table: the identity of a device with its driver, and descriptive columns that
// are kept up to date. Internal to db/.
#pragma once

#include <optional>
#include <vector>

#include "db/sqlite/connection.h"
#include "db/tables/records.h"

namespace rooftile {

std::optional<RowId> find_device_row(Connection& connection, const DeviceProfile& profile);
/// The row of this device and driver, inserted when new. Updates its descriptive columns when they
/// differ.
RowId store_device(Connection& connection, const DeviceProfile& profile);
RowId insert_device(Connection& connection, const DeviceProfile& profile);
/// The columns that identify a device, those that are kept up to date, and all that read_device()
/// reads. Macros, because a statement is one literal (class Sql).
#define ROOFTILE_DEVICE_IDENTITY \
  "device_uuid, vendor_id, product_id, driver_id, driver_version, pipeline_cache_uuid"
#define ROOFTILE_DEVICE_DESCRIPTION \
  "name, driver_name, driver_info, kind, api_version, memory_bytes, unified_memory, limits"
#define ROOFTILE_DEVICE_COLUMNS \
  "id, " ROOFTILE_DEVICE_IDENTITY ", " ROOFTILE_DEVICE_DESCRIPTION ", created_at"
DeviceRecord read_device(Sql& sql);
std::vector<DeviceRecord> read_devices(Connection& connection);

}  // namespace rooftile
