#include "db/migrations/schema.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <map>

#include "core/error.h"
#include "db/migrations/migrations.h"

namespace rooftile {
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

void apply(SQLite::Database& database, const Migration& migration) {
  database.exec(migration.sql);
  // Both are fields of the header, and part of the transaction. PRAGMA takes no parameters, and
  // both values are trusted numbers.
  database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.exec(fmt::format("PRAGMA user_version = {}", migration.version));
}

/// Does not enforce foreign keys for as long as it lives, so that tables can be made anew.
class UnenforcedForeignKeys {
 public:
  explicit UnenforcedForeignKeys(Connection& connection)
      : connection_(connection), enforced_(connection.integer("PRAGMA foreign_keys") != 0) {
    connection_.database().exec("PRAGMA foreign_keys = OFF");  // No effect within a transaction.
  }
  ~UnenforcedForeignKeys() {
    if (enforced_) connection_.database().tryExec("PRAGMA foreign_keys = ON");
  }
  UnenforcedForeignKeys(const UnenforcedForeignKeys&) = delete;
  UnenforcedForeignKeys& operator=(const UnenforcedForeignKeys&) = delete;

 private:
  Connection& connection_;
  const bool enforced_;
};

/// The schema of a new file of that version. It is cached, because an import of a thousand files
/// needs it a thousand times.
const Schema& expected_schema(std::int64_t version) {
  static thread_local std::map<std::int64_t, Schema> known;
  auto entry = known.find(version);
  if (entry == known.end()) {
    SQLite::Database database(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (const Migration& migration : migrations())
      if (migration.version <= version) apply(database, migration);
    entry = known.emplace(version, schema_of(database)).first;
  }
  return entry->second;
}

std::vector<std::string> defects(SQLite::Database& database, const char* check) {
  std::vector<std::string> found;
  SQLite::Statement rows(database, check);
  while (rows.executeStep()) found.push_back(rows.getColumn(0).getString());
  if (found.size() == 1 && found.front() == "ok") found.clear();
  return found;
}

}  // namespace

int newest_schema_version() { return migrations().back().version; }

FileIdentity identify(Connection& connection) {
  // Reads one snapshot, because another process may finish its first migration between two reads.
  connection.database().exec("BEGIN");
  struct End {
    SQLite::Database& database;
    ~End() { database.tryExec("ROLLBACK"); }
  } end{connection.database()};

  // The header is checked first: this SQLite may not understand the schema of a newer program and
  // would call it malformed.
  FileIdentity identity{.application_id = connection.integer("PRAGMA application_id"),
                        .schema_version = connection.integer("PRAGMA user_version")};
  if (identity.application_id != 0 && identity.application_id != kApplicationId) {
    identity.owner = Owner::kOtherProgram;
  } else if (identity.application_id == kApplicationId &&
             identity.schema_version > newest_schema_version()) {
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

void refuse_unusable(const FileIdentity& identity, const Connection& connection,
                     std::string_view named) {
  if (identity.owner == Owner::kOtherProgram)
    fail(ErrorCode::kDatabase,
         "{} is a SQLite database of another program (application id {}); it was left as it is: "
         "name another file{}",
         connection.path().string(), identity.application_id, named);
  if (identity.owner == Owner::kRooftile && identity.schema_version > newest_schema_version())
    fail(ErrorCode::kDatabase,
         "{} has schema version {}, but this Rooftile knows versions up to {}; it was left as it "
         "is: update Rooftile, or name another file{}",
         connection.path().string(), identity.schema_version, newest_schema_version(), named);
}

void migrate(Connection& connection, int target_version) {
  const UnenforcedForeignKeys unenforced(connection);
  for (const Migration& migration : migrations()) {
    if (migration.version > target_version) break;
    if (connection.integer("PRAGMA user_version") >= migration.version) continue;
    Atomically atomically(connection);
    // Checks again under the write lock, because another process may have migrated the file
    // meanwhile.
    const std::int64_t version = connection.integer("PRAGMA user_version");
    if (version < migration.version) apply(connection.database(), migration);
    atomically.commit();
  }
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
  const Schema& expected = expected_schema(connection.integer("PRAGMA user_version"));
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
