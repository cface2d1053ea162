#include "db/tables/device_row.h"

#include <algorithm>
#include <limits>

#include "db/tables/records_json.h"

namespace rooftile {
namespace {

void bind_identity(Sql& sql, const DeviceProfile& p) {
  sql.bind_all(p.device_uuid, p.vendor_id, p.device_id, p.driver_id, p.driver_version,
               p.pipeline_cache_uuid);
}

void bind_description(Sql& sql, const DeviceProfile& p) {
  // SQLite's integers are signed, so a driver's value above 8 EiB is stored as 8 EiB.
  const auto memory_bytes =
      std::min<std::uint64_t>(p.device_memory_bytes, std::numeric_limits<std::int64_t>::max());
  sql.bind_all(p.name, p.driver_name, p.driver_info, name(p.kind), p.api_version, memory_bytes,
               p.unified_memory, limits_json(p.limits));
}

DeviceKind parse_kind(const std::string& text) {
  for (const DeviceKind kind : {DeviceKind::kDiscrete, DeviceKind::kIntegrated,
                                DeviceKind::kSoftware, DeviceKind::kVirtual})
    if (text == name(kind)) return kind;
  return DeviceKind::kOther;
}

}  // namespace

RowId insert_device(Connection& connection, const DeviceProfile& profile) {
  // Another process may have inserted it since; then its row is the answer.
  Sql insert(connection,
             "INSERT INTO devices (" ROOFTILE_DEVICE_IDENTITY ", " ROOFTILE_DEVICE_DESCRIPTION
             ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
             " ON CONFLICT (" ROOFTILE_DEVICE_IDENTITY ") DO NOTHING");
  bind_identity(insert, profile);
  bind_description(insert, profile);
  insert.run();
  return find_device_row(connection, profile).value();
}

std::optional<RowId> find_device_row(Connection& connection, const DeviceProfile& profile) {
  Sql sql(connection,
          "SELECT id FROM devices WHERE (" ROOFTILE_DEVICE_IDENTITY ") = (?, ?, ?, ?, ?, ?)");
  bind_identity(sql, profile);
  if (sql.step()) return sql.integer();
  return std::nullopt;
}

RowId store_device(Connection& connection, const DeviceProfile& profile) {
  const std::optional<RowId> id = find_device_row(connection, profile);
  if (!id) return insert_device(connection, profile);
  // Compares first, because most calls change nothing and a statement that may write waits for
  // other writers.
  Sql same(connection, "SELECT 1 FROM devices WHERE (" ROOFTILE_DEVICE_DESCRIPTION
                       ") = (?, ?, ?, ?, ?, ?, ?, ?) AND id = ?");
  bind_description(same, profile);
  if (!same.bind(*id).step()) {
    Sql update(connection, "UPDATE devices SET (" ROOFTILE_DEVICE_DESCRIPTION
                           ") = (?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?");
    bind_description(update, profile);
    update.bind(*id).run();
  }
  return *id;
}

DeviceRecord read_device(Sql& sql) {
  DeviceRecord record;
  DeviceProfile& p = record.profile;
  record.id = sql.integer();
  p.device_uuid = sql.text();
  p.vendor_id = static_cast<std::uint32_t>(sql.integer());
  p.device_id = static_cast<std::uint32_t>(sql.integer());
  p.driver_id = static_cast<std::uint32_t>(sql.integer());
  p.driver_version = static_cast<std::uint32_t>(sql.integer());
  p.pipeline_cache_uuid = sql.text();
  p.name = sql.text();
  p.driver_name = sql.text();
  p.driver_info = sql.text();
  p.kind = parse_kind(sql.text());
  p.api_version = static_cast<std::uint32_t>(sql.integer());
  p.device_memory_bytes = static_cast<std::uint64_t>(sql.integer());
  p.unified_memory = sql.integer() != 0;
  p.limits = parse_limits(sql.text());
  record.created_at = sql.text();
  return record;
}

std::vector<DeviceRecord> read_devices(Connection& connection) {
  std::vector<DeviceRecord> devices;
  Sql sql(connection, "SELECT " ROOFTILE_DEVICE_COLUMNS " FROM devices ORDER BY id");
  while (sql.next_row()) devices.push_back(read_device(sql));
  return devices;
}

}  // namespace rooftile
