#include "db/open/older_file.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "core/error.h"
#include "db/migrations/schema.h"

namespace rooftile {
namespace {

/// Copies the file in one step, so that the copy is of one state of the file.
void copy(Connection& from, Connection& to, const char* schema) {
  constexpr int kAllPages = -1;
  SQLite::Backup backup(to.database(), schema, from.database(), "main");
  if (const int code = backup.executeStep(kAllPages); code != SQLITE_DONE)
    throw SQLite::Exception(sqlite3_errstr(code), code);
}

}  // namespace

std::unique_ptr<Connection> copy_in_memory(Connection& connection) {
  auto made = std::make_unique<Connection>(connection.path(), Access::kMemory,
                                           connection.busy_timeout_ms());
  copy(connection, *made, "main");
  return made;
}

std::unique_ptr<Connection> migrated_copy(Connection& file, std::string_view named) {
  const std::int64_t bytes = file.integer("PRAGMA page_count") * file.integer("PRAGMA page_size");
  if (bytes > kMostCopiedBytes)
    fail(ErrorCode::kDatabase,
         "{} has schema version {}, and this Rooftile reads version {}; with {} MiB it is too "
         "large to be read without an update: `rooftile tune` or `rooftile db vacuum` brings it up "
         "to date",
         file.path().string(), file.integer("PRAGMA user_version"), newest_schema_version(),
         bytes >> 20);
  auto made = copy_in_memory(file);
  refuse_unusable(identify(*made), *made, named);  // again: it may have been migrated meanwhile
  migrate(*made);
  return made;
}

void attach_copy(Connection& connection, Connection& target, const char* schema) {
  SQLite::Statement statement(target.database(), "ATTACH ':memory:' AS ?");
  statement.bind(1, schema);
  statement.exec();
  copy(connection, target, schema);
}

}  // namespace rooftile
