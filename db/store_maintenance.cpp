#include <fmt/format.h>

#include <system_error>

#include "core/error.h"
#include "db/schema.h"
#include "db/store_impl.h"

namespace rooftile {

StoreStats Store::stats() const {
  return impl_->guarded("counting rows", [&] {
    Connection& connection = *impl_->connection;
    StoreStats stats;
    Sql sql(connection,
            "SELECT 'black_list', count(*) FROM black_list UNION ALL"
            " SELECT 'calibration_figures', count(*) FROM calibration_figures UNION ALL"
            " SELECT 'calibrations', count(*) FROM calibrations UNION ALL"
            " SELECT 'candidates', count(*) FROM candidates UNION ALL"
            " SELECT 'certificates', count(*) FROM certificates UNION ALL"
            " SELECT 'compiler_facts', count(*) FROM compiler_facts UNION ALL"
            " SELECT 'devices', count(*) FROM devices UNION ALL"
            " SELECT 'journal', count(*) FROM journal UNION ALL"
            " SELECT 'problems', count(*) FROM problems UNION ALL"
            " SELECT 'reference_samples', count(*) FROM reference_samples UNION ALL"
            " SELECT 'runs', count(*) FROM runs UNION ALL"
            " SELECT 'samples', count(*) FROM samples UNION ALL"
            " SELECT 'untuned_problems', count(*) FROM untuned_problems UNION ALL"
            " SELECT 'winners', count(*) FROM winners");
    while (sql.next_row()) {
      TableRows& rows = stats.tables.emplace_back();
      rows.table = sql.text();
      rows.rows = sql.integer();
    }
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

std::vector<std::string> Store::check() const {
  return impl_->guarded("checking the file", [&] {
    Connection& connection = *impl_->connection;
    std::vector<std::string> findings = find_damage(connection);
    if (!findings.empty()) return findings;  // what follows would stumble over it
    findings = compare_schema(connection);
    if (!findings.empty()) return findings;

    SQLite::Statement strays(
        connection.database(),
        "SELECT \"table\", rowid, parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 3");
    while (strays.executeStep())
      findings.push_back(fmt::format("{} rows of {} refer to rows of {} that do not exist",
                                     strays.getColumn(3).getInt(), strays.getColumn(0).getString(),
                                     strays.getColumn(2).getString()));
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
    // VACUUM writes the new file into the log; this moves it over and cuts the log to nothing.
    connection.text("PRAGMA wal_checkpoint(TRUNCATE)");
  });
}

}  // namespace rooftile
