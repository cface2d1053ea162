#include "db/schema/schema.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <map>

#include "core/embedded_text.h"

namespace rooftile {

std::span<const EmbeddedText> embedded_schema();  // tables.sql and views.sql: CMakeLists.txt

namespace {

using Schema = std::map<std::string, std::string>;  // "view best_kernels" -> its SQL

Schema schema_of(SQLite::Database& database) {
  Schema schema;
  // SQLite adds and removes tables of its own (sqlite_sequence, sqlite_stat1).
  SQLite::Statement entries(database,
                            "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema"
                            " WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'");
  while (entries.executeStep())
    schema[entries.getColumn(0).getString()] = entries.getColumn(1).getString();
  return schema;
}

/// The schema of a new file. It is kept, because an import of a thousand files needs it a thousand
/// times.
const Schema& expected_schema() {
  static thread_local const Schema expected = [] {
    Connection connection("", Access::kMemory, 0);
    create_schema(connection);
    return schema_of(connection.database());
  }();
  return expected;
}

std::vector<std::string> defects(SQLite::Database& database, const char* check) {
  std::vector<std::string> found;
  SQLite::Statement rows(database, check);
  while (rows.executeStep()) found.push_back(rows.getColumn(0).getString());
  if (found.size() == 1 && found.front() == "ok") found.clear();
  return found;
}

}  // namespace

FileIdentity identify(Connection& connection) {
  // Reads one snapshot, because another process may create the schema between two reads.
  connection.database().exec("BEGIN");
  struct End {
    SQLite::Database& database;
    ~End() { database.tryExec("ROLLBACK"); }
  } end{connection.database()};

  // The header is checked first: this SQLite may not understand the schema of a newer program and
  // would call it malformed.
  FileIdentity identity{.application_id = connection.integer("PRAGMA application_id"),
                        .schema_version = connection.integer("PRAGMA user_version")};
  if (identity.application_id == kIdBeforeRelease) {
    identity.owner = Owner::kBeforeRelease;
  } else if (identity.application_id != 0 && identity.application_id != kApplicationId) {
    identity.owner = Owner::kOtherProgram;
  } else if (identity.application_id == kApplicationId &&
             identity.schema_version > kSchemaVersion) {
    identity.owner = Owner::kRooftile;
  } else {
    const bool holds_anything = connection.integer("SELECT count(*) FROM sqlite_schema") > 0;
    if (identity.application_id == kApplicationId)
      identity.owner = Owner::kRooftile;
    else if (holds_anything || identity.schema_version != 0)
      identity.owner = Owner::kOtherProgram;
  }
  return identity;
}

void create_schema(Connection& connection) {
  const auto is_new = [&] { return connection.integer("PRAGMA user_version") == 0; };
  if (!is_new()) return;
  Atomically atomically(connection);
  if (is_new())  // another process may have created it before this one had the write lock
    for (const EmbeddedText& file : embedded_schema())
      connection.database().exec(std::string(file.text));
  atomically.commit();
}

std::vector<std::string> find_damage(Connection& connection) {
  try {
    std::vector<std::string> damage = defects(connection.database(), "PRAGMA integrity_check");
    const bool evaluated =
        connection.access() == Access::kReadWrite || connection.access() == Access::kMemory;
    return damage.empty() && !evaluated ? find_broken_rules(connection) : damage;
  } catch (const SQLite::Exception& error) {
    if (!means_damage(error)) throw;
    return {error.what()};
  }
}

std::vector<std::string> find_broken_rules(Connection& connection) {
  constexpr int kAllPages = -1;
  SQLite::Database copy("", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Backup backup(copy, connection.database());
  if (const int code = backup.executeStep(kAllPages); code != SQLITE_DONE)
    throw SQLite::Exception(sqlite3_errstr(code), code);
  return defects(copy, "PRAGMA quick_check");
}

std::vector<std::string> compare_schema(Connection& connection) {
  const Schema& expected = expected_schema();
  const Schema found = schema_of(connection.database());

  std::vector<std::string> differences;
  for (const auto& [entry, sql] : expected) {
    const auto match = found.find(entry);
    if (match == found.end())
      differences.push_back(fmt::format("{} is missing", entry));
    else if (match->second != sql)
      differences.push_back(fmt::format("{} was altered", entry));
  }
  for (const auto& [entry, sql] : found)
    if (!expected.contains(entry))
      differences.push_back(fmt::format("{} is not part of the schema", entry));
  return differences;
}

}  // namespace rooftile
