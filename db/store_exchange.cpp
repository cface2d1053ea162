// Export of tuned data to a file, and import from one.
#include "core/error.h"
#include "core/files/new_file.h"
#include "db/exchange/foreign_file.h"
#include "db/exchange/import_rows.h"
#include "db/exchange/limited_length.h"
#include "db/open/file_location.h"
#include "db/schema/schema.h"
#include "db/store_impl.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// Copies the rows of `own` that belong to the devices in temp.chosen, with the same row ids.
/// Candidates, problems and origins come last, because the other rows decide which of them are
/// needed.
constexpr const char* kCopies[] = {
    "INSERT INTO main.devices SELECT * FROM own.devices WHERE id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.calibrations SELECT * FROM own.calibrations"
    " WHERE device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.calibration_figures SELECT * FROM own.calibration_figures"
    " WHERE calibration_id IN (SELECT id FROM main.calibrations)",
    "INSERT INTO main.runs SELECT * FROM own.runs"
    " WHERE device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.samples SELECT s.* FROM main.runs AS r CROSS JOIN own.samples AS s"
    " WHERE s.run_id = r.id ORDER BY s.id",
    "INSERT INTO main.winners SELECT * FROM own.winners"
    " WHERE device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.imported_winners SELECT * FROM own.imported_winners"
    " WHERE device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.portfolio SELECT * FROM own.portfolio"
    " WHERE place IS NOT NULL AND device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.imported_portfolio SELECT * FROM own.imported_portfolio"
    " WHERE device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.black_list SELECT * FROM own.black_list"
    " WHERE device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.imported_black_list SELECT * FROM own.imported_black_list"
    " WHERE device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.compiler_facts SELECT * FROM own.compiler_facts"
    " WHERE device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.counter_sets SELECT * FROM own.counter_sets"
    " WHERE device_id IN (SELECT id FROM temp.chosen)",
    "INSERT INTO main.counters SELECT * FROM own.counters"
    " WHERE counter_set_id IN (SELECT id FROM main.counter_sets)",
    "INSERT INTO main.candidates SELECT * FROM own.candidates WHERE id IN"
    " (SELECT candidate_id FROM main.samples UNION SELECT candidate_id FROM main.winners"
    "  UNION SELECT candidate_id FROM main.imported_winners"
    "  UNION SELECT candidate_id FROM main.portfolio"
    "  UNION SELECT candidate_id FROM main.imported_portfolio"
    "  UNION SELECT candidate_id FROM main.black_list"
    "  UNION SELECT candidate_id FROM main.imported_black_list"
    "  UNION SELECT candidate_id FROM main.compiler_facts"
    "  UNION SELECT candidate_id FROM main.counter_sets)",
    "INSERT INTO main.problems SELECT * FROM own.problems WHERE id IN"
    " (SELECT problem_id FROM main.samples UNION SELECT problem_id FROM main.winners"
    "  UNION SELECT problem_id FROM main.imported_winners"
    "  UNION SELECT problem_id FROM main.counter_sets)",
    "DELETE FROM main.origins",
    "INSERT INTO main.origins SELECT * FROM own.origins WHERE own = 1 OR id IN"
    " (SELECT origin_id FROM main.calibrations UNION SELECT origin_id FROM main.runs"
    "  UNION SELECT origin_id FROM main.imported_winners"
    "  UNION SELECT origin_id FROM main.imported_portfolio"
    "  UNION SELECT origin_id FROM main.imported_black_list"
    "  UNION SELECT origin_id FROM main.compiler_facts"
    "  UNION SELECT origin_id FROM main.counter_sets)",
};

bool same_file(const fs::path& x, const fs::path& y) {
  std::error_code missing;
  return fs::equivalent(x, y, missing);
}

}  // namespace

void Store::export_to(const fs::path& file, std::span<const RowId> devices) const {
  const fs::path target = resolved_path(file, "");
  if (same_file(target, path()))
    fail(ErrorCode::kInvalidArgument, "{} is the database itself; name another file to export to",
         target.string());
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
    for (const char* sql : kCopies) out.database().exec(sql);
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
    const LimitedLength limited(connection);
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
