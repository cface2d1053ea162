#include "db/sqlite/connection.h"

#include <sqlite3.h>

#include "db/sqlite/sidecars.h"

namespace rooftile {
namespace {

int flags(Access access) {
  // A Store belongs to one thread, so SQLite's own mutexes are not needed.
  return SQLite::OPEN_NOMUTEX | SQLite::OPEN_URI |
         (access == Access::kReadWrite || access == Access::kMemory
              ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE
              : SQLite::OPEN_READONLY);
}

std::string uri_of(const std::filesystem::path& path, std::string_view parameter) {
  std::string uri = "file://";
  for (const char letter : path.string()) {
    constexpr std::string_view kSpecial = "%?#";
    if (kSpecial.find(letter) == std::string_view::npos) {
      uri += letter;
    } else {
      constexpr std::string_view kHex = "0123456789abcdef";
      uri += '%';
      uri += kHex[static_cast<unsigned char>(letter) / kHex.size()];
      uri += kHex[static_cast<unsigned char>(letter) % kHex.size()];
    }
  }
  return uri.append("?").append(parameter);
}

/// Only a URI can ask for immutable. Otherwise the plain path is used; it is absolute, so that
/// SQLite does not interpret ":memory:" or "file:" in it. SQLite opens the files beside it later.
std::string file_name(const std::filesystem::path& path, Access access) {
  if (access == Access::kMemory) return ":memory:";
  refuse_strange_sidecars(path);
  return access == Access::kImmutable ? uri_of(path, "immutable=1") : path.string();
}

}  // namespace

Connection::Connection(const std::filesystem::path& path, Access access, int busy_timeout_ms)
    : path_(path),
      access_(access),
      busy_timeout_ms_(busy_timeout_ms),
      database_(file_name(path, access), flags(access), busy_timeout_ms) {
  // No statement on this connection may edit the schema directly.
  sqlite3_db_config(database_.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(database_.getHandle()) == 0;
}

void Connection::limit_values() {
  constexpr int kLongestBytes = 16 << 20;  // compiler statistics, the longest, take some KiB
  sqlite3_limit(database_.getHandle(), SQLITE_LIMIT_LENGTH, kLongestBytes);
}

std::int64_t Connection::integer(const char* sql) { return database_.execAndGet(sql).getInt64(); }

std::string Connection::text(const char* sql) { return database_.execAndGet(sql).getString(); }

void Connection::attach(const std::filesystem::path& path, Access access, const char* schema) {
  refuse_strange_sidecars(path);
  SQLite::Statement statement(database_, "ATTACH ? AS ?");
  statement.bind(1, uri_of(path, access == Access::kImmutable ? "immutable=1" : "mode=ro"));
  statement.bind(2, schema);
  statement.exec();
}

void Connection::detach(const char* schema) {
  SQLite::Statement statement(database_, "DETACH ?");
  statement.bind(1, schema);
  statement.exec();
}

SQLite::Statement& Connection::prepared(const char* sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return found->second;
  return statements_.emplace(sql, SQLite::Statement(database_, sql)).first->second;
}

Atomically::Atomically(Connection& connection)
    : connection_(connection), nested_(connection.in_transaction()) {
  Sql(connection_, nested_ ? "SAVEPOINT atomically" : "BEGIN IMMEDIATE").run();
}

Atomically::~Atomically() {
  // After some errors (a full disk) SQLite has undone the whole transaction by itself.
  if (!open_ || !connection_.in_transaction()) return;
  connection_.database().tryExec(nested_ ? "ROLLBACK TO atomically; RELEASE atomically"
                                         : "ROLLBACK");
}

void Atomically::commit() {
  Sql(connection_, nested_ ? "RELEASE atomically" : "COMMIT").run();
  open_ = false;
}

}  // namespace rooftile
