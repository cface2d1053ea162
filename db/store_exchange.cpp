// Export of tuned data to a file, and import from one.
#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>

#include "core/error.h"
#include "core/files/new_file.h"
#include "db/exchange/foreign_file.h"
#include "db/exchange/import_rows.h"
#include "db/open/file_location.h"
#include "db/schema/schema.h"
#include "db/store_impl.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// Tables whose rows belong to a device.
constexpr std::string_view kOfDevices[] = {
    "calibrations",       "runs",         "winners",
    "imported_winners",   "black_list",   "imported_black_list",
    "imported_portfolio", "counter_sets", "compiler_facts"};

/// Selects what a column of these tables refers to.
std::string targets(std::string_view column, std::initializer_list<std::string_view> tables) {
  std::string sql;
  for (const std::string_view table : tables)
    sql += fmt::format("{}SELECT {} FROM main.{}", sql.empty() ? "" : " UNION ", column, table);
  return sql;
}

/// Copies the rows of `own` that belong to the devices in temp.chosen, with the same row ids.
void copy_chosen(SQLite::Database& out) {
  const auto copy = [&](std::string_view table, std::string_view condition) {
    out.exec(fmt::format("INSERT INTO main.{0} SELECT * FROM own.{0} WHERE {1}", table, condition));
  };
  constexpr std::string_view kChosen = "device_id IN (SELECT id FROM temp.chosen)";
  copy("devices", "id IN (SELECT id FROM temp.chosen)");
  for (const std::string_view table : kOfDevices) copy(table, kChosen);
  copy("portfolio", fmt::format("place IS NOT NULL AND {}", kChosen));
  copy("calibration_figures", "calibration_id IN (SELECT id FROM main.calibrations)");
  copy("counters", "counter_set_id IN (SELECT id FROM main.counter_sets)");
  out.exec(
      "INSERT INTO main.samples SELECT s.* FROM main.runs AS r CROSS JOIN own.samples AS s"
      " WHERE s.run_id = r.id ORDER BY s.id");
  // Last, because the other rows decide which of them are needed.
  copy("candidates",
       fmt::format("id IN ({})", targets("candidate_id",
                                         {"samples", "winners", "imported_winners", "portfolio",
                                          "imported_portfolio", "black_list", "imported_black_list",
                                          "compiler_facts", "counter_sets"})));
  copy("problems",
       fmt::format("id IN ({})", targets("problem_id", {"samples", "winners", "imported_winners",
                                                        "counter_sets"})));
  out.exec("DELETE FROM main.origins");
  copy("origins", fmt::format("own = 1 OR id IN ({})",
                              targets("origin_id", {"calibrations", "runs", "imported_winners",
                                                    "imported_portfolio", "imported_black_list",
                                                    "compiler_facts", "counter_sets"})));
}

bool same_file(const fs::path& x, const fs::path& y) {
  std::error_code missing;
  return fs::equivalent(x, y, missing);
}

}  // namespace

void Store::export_to(const fs::path& file, std::span<const RowId> devices) const {
  const fs::path target = resolved_path(file, "");
  if (same_file(target, path()) || is_beside_database(target))
    fail(ErrorCode::kInvalidArgument,
         "{} is the database itself, or a part of one; name another file to export to",
         target.string());
  // SQLite would play the log of the replaced database back into the new one.
  for (const char* suffix : {"-wal", "-journal"}) {
    const fs::path beside = fs::path(target) += suffix;
    std::error_code missing;
    if (const std::uintmax_t bytes = fs::file_size(beside, missing); !missing && bytes > 0)
      fail(ErrorCode::kInvalidArgument,
           "{} belongs to a database that is in use or was not closed; name another file to export "
           "to, or remove both",
           beside.string());
  }
  NewFile fresh(target, target.string());
  try {
    // No other process knows the file, and it is synced once, when it is complete.
    Connection out(fresh.path(), Access::kReadWrite, impl_->options.busy_timeout_ms);
    out.database().exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    create_schema(out);
    out.attach(path(), impl_->connection->access(), "own");
    out.database().exec("BEGIN; CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)");
    for (const RowId device : devices)
      Sql(out, "INSERT OR IGNORE INTO temp.chosen VALUES (?)").bind(device).run();
    copy_chosen(out.database());
    out.database().exec("COMMIT");
    out.detach("own");
  } catch (const SQLite::Exception& error) {
    if (means_broken_rule(error))
      fail(ErrorCode::kDatabase,
           "{} holds data that no version of Rooftile writes ({}), and nothing was exported: "
           "`rooftile db check` tells where; restore a copy, or move the file away",
           path().string(), error.what());
    rethrow(error, target, "exporting tuned data", "");
  }
  fresh.commit();
}

std::string Store::origin() const {
  return impl_->guarded("reading the origin", [&] {
    return impl_->connection->text("SELECT key FROM origins WHERE own = 1");
  });
}

ImportReport Store::import_from(const fs::path& file) {
  const fs::path source = resolved_path(file, "");
  return impl_->guarded("importing tuned data", [&] {
    Connection& connection = *impl_->connection;
    if (connection.in_transaction())
      fail(ErrorCode::kInvalidArgument,
           "an import cannot be part of a transaction; commit it first");
    // The import inserts into all parts of large indices; this caches 64 MiB of their pages.
    connection.database().exec("PRAGMA cache_size = -65536");
    const ForeignFile theirs(connection, source);
    connection.limit_values();
    try {
      Atomically atomically(connection);
      const ImportReport report = import_rows(connection, source.string());
      atomically.commit();
      return report;
    } catch (const SQLite::Exception& error) {
      if (!means_damage(error) && !means_broken_rule(error)) throw;
      fail(ErrorCode::kDatabase,
           "{} holds data that no version of Rooftile writes ({}); nothing of it was imported",
           source.string(), error.what());
    }
  });
}

}  // namespace rooftile
