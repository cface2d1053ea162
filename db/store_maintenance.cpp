#include <fmt/format.h>

#include <system_error>

#include "core/count_text.h"
#include "core/error.h"
#include "db/schema/schema.h"
#include "db/store_impl.h"

namespace rooftile {

StoreStats Store::stats() const {
  return impl_->guarded("counting rows", [&] {
    Connection& connection = *impl_->connection;
    StoreStats stats;
    // One statement, so that all counts are of one snapshot.
    SQLite::Statement sql(
        connection.database(),
        connection.text("SELECT group_concat(printf('SELECT %Q, count(*) FROM \"%w\"', name, name),"
                        "                    ' UNION ALL ')"
                        "  FROM (SELECT name FROM sqlite_schema WHERE type = 'table'"
                        "         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name)"));
    while (sql.executeStep())
      stats.tables.push_back(
          {.table = sql.getColumn(0).getString(), .rows = sql.getColumn(1).getInt64()});
    const std::int64_t page_bytes = connection.integer("PRAGMA page_size");
    stats.file_bytes = connection.integer("PRAGMA page_count") * page_bytes;
    stats.free_bytes = connection.integer("PRAGMA freelist_count") * page_bytes;
    std::error_code missing;
    const std::uintmax_t wal_bytes =
        std::filesystem::file_size(std::filesystem::path(path()) += "-wal", missing);
    stats.wal_bytes = missing ? 0 : static_cast<std::int64_t>(wal_bytes);
    return stats;
  });
}

std::vector<DeviceStats> Store::device_stats() const {
  return impl_->guarded("counting what is known of the devices", [&] {
    std::vector<DeviceStats> devices;
    // Samples and problems are counted in indices over runs, because the table may hold millions of
    // rows.
    Sql sql(*impl_->connection,
            "WITH counted AS (SELECT problem_id, run_id, count(*) AS samples FROM samples"
            "                  GROUP BY problem_id, run_id),"
            " of_device AS (SELECT r.device_id, sum(c.samples) AS samples,"
            "                      count(DISTINCT c.problem_id) AS problems"
            "                 FROM counted AS c JOIN runs AS r ON r.id = c.run_id"
            "                GROUP BY r.device_id)"
            " SELECT d.id, d.device_uuid, d.name, d.driver_info, count(r.id), count(r.origin_id),"
            "        coalesce(o.samples, 0), coalesce(o.problems, 0),"
            "        coalesce(max(r.created_at), '')"
            "   FROM devices AS d LEFT JOIN runs AS r ON r.device_id = d.id"
            "   LEFT JOIN of_device AS o ON o.device_id = d.id"
            "  GROUP BY d.id ORDER BY d.id");
    while (sql.next_row()) {
      DeviceStats& device = devices.emplace_back();
      device.device = sql.integer();
      device.device_uuid = sql.text();
      device.name = sql.text();
      device.driver_info = sql.text();
      device.runs = sql.integer();
      device.imported_runs = sql.integer();
      device.samples = sql.integer();
      device.problems = sql.integer();
      device.last_tuned = sql.text();
    }
    return devices;
  });
}

std::vector<std::string> Store::check() const {
  return impl_->guarded("checking the file", [&] {
    Connection& connection = *impl_->connection;
    std::vector<std::string> findings = find_damage(connection);
    if (!findings.empty()) return findings;  // the checks below need a sound file
    findings = compare_schema(connection);
    if (!findings.empty()) return findings;

    SQLite::Statement strays(
        connection.database(),
        "SELECT \"table\", rowid, parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 3");
    while (strays.executeStep())
      findings.push_back(fmt::format(
          "{} of {} referring to no row of {}", count_text(strays.getColumn(3).getInt(), "row"),
          strays.getColumn(0).getString(), strays.getColumn(2).getString()));
    Sql variants(connection, "SELECT id, variant FROM candidates ORDER BY id");
    while (variants.next_row()) {
      const RowId id = variants.integer();
      try {
        parse_variant(variants.text());
      } catch (const Error& error) {
        findings.push_back(fmt::format("candidate {} cannot be read: {}", id, error.what()));
      }
    }
    return findings;
  });
}

void Store::vacuum() {
  impl_->guarded("compacting the file", [&] {
    Connection& connection = *impl_->connection;
    impl_->query_connection.reset();
    connection.database().exec("VACUUM");
    // VACUUM writes the new file into the log; this copies it to the file and truncates the log.
    connection.text("PRAGMA wal_checkpoint(TRUNCATE)");
  });
}

}  // namespace rooftile
