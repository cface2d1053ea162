// One SQLite connection with its prepared statements. Internal to db/. It belongs to one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/file_size_signal.h"
#include "db/sqlite/in_sqlite.h"
#include "db/sqlite/sqlite_error.h"

namespace rooftile {

enum class Access : std::uint8_t {
  kReadWrite,  // creates the file
  kReadOnly,
  kImmutable,  // read-only without SQLite's shared memory file, where that cannot be created; no
               // process may write meanwhile
  kMemory,     // a new, empty database in memory; path only names the origin of its content
};

class Connection {
 public:
  /// Opens the file without reading it. Throws SQLite::Exception, DatabaseLocked (in_sqlite.h), and
  /// kIo where a file beside it is refused (sidecars.h).
  Connection(const std::filesystem::path& path, Access access, int busy_timeout_ms);

  SQLite::Database& database() { return database_; }
  const std::filesystem::path& path() const { return path_; }
  Access access() const { return access_; }
  int busy_timeout_ms() const { return busy_timeout_ms_; }
  bool in_transaction() const;
  /// From now on SQLite refuses values that are longer than any value that Rooftile writes, so that
  /// a file of elsewhere cannot exhaust the memory.
  void limit_values();
  std::int64_t integer(const char* sql);  // first column of the first row
  std::string text(const char* sql);
  /// Attaches a file for reading, whatever access says. path is absolute. Not allowed inside a
  /// transaction. Throws as the constructor does.
  void attach(const std::filesystem::path& path, Access access, const char* schema);
  void detach(const char* schema);

  /// Runs body and turns an exception of SQLite's into an Error that says what was being done and
  /// to which file.
  template <typename Body>
  auto guarded(std::string_view doing, Body&& body) {
    try {
      return body();
    } catch (const SQLite::Exception& error) {
      rethrow(error, path_, doing);
    }
  }

 private:
  friend class Sql;
  SQLite::Statement& prepared(const char* sql);

  std::filesystem::path path_;
  Access access_;
  int busy_timeout_ms_;
  InSqlite in_sqlite_;
  NoFileSizeSignal no_file_size_signal_;
  SQLite::Database database_;
  std::unordered_map<std::string_view, SQLite::Statement> statements_;
};

/// A prepared statement of a connection, which keeps it for the next use. The destructor resets it:
/// a statement that stays at a row would keep its snapshot of the file, and the write-ahead log
/// could not shrink.
class Sql {
 public:
  /// sql is a literal: its address is kept as the key of the prepared statement.
  Sql(Connection& connection, const char* sql) : statement_(connection.prepared(sql)) {}
  ~Sql() { statement_.tryReset(); }
  Sql(const Sql&) = delete;
  Sql& operator=(const Sql&) = delete;

  /// Binds the next parameter.
  Sql& bind(std::integral auto value) {
    statement_.bind(++bound_, static_cast<std::int64_t>(value));
    return *this;
  }
  Sql& bind(std::floating_point auto value) {
    statement_.bind(++bound_, static_cast<double>(value));
    return *this;
  }
  Sql& bind(std::string_view value) {
    statement_.bind(++bound_, std::string(value));
    return *this;
  }
  /// An empty value is bound as NULL.
  template <typename Value>
  Sql& bind(const std::optional<Value>& value) {
    if (value) return bind(*value);
    statement_.bind(++bound_);
    return *this;
  }
  template <typename... Values>
  Sql& bind_all(const Values&... values) {
    (bind(values), ...);
    return *this;
  }

  bool step() { return statement_.executeStep(); }
  void run() { statement_.exec(); }

  // Each call reads the next column of the current row.
  std::int64_t integer() { return statement_.getColumn(column_++).getInt64(); }
  double real() { return statement_.getColumn(column_++).getDouble(); }
  std::string text() { return statement_.getColumn(column_++).getString(); }
  std::optional<double> optional_real() {
    if (!null()) return real();
    skip();
    return std::nullopt;
  }
  bool null() const { return statement_.getColumn(column_).isNull(); }
  void skip() { ++column_; }
  bool next_row() {
    column_ = 0;
    return step();
  }

 private:
  SQLite::Statement& statement_;
  int bound_ = 0;
  int column_ = 0;
};

/// Makes several statements atomic: a transaction that takes the write lock at its start (a lock
/// that is taken later can be refused without waiting), or a savepoint inside a transaction that is
/// open. The destructor undoes everything that was not committed.
class Atomically {
 public:
  explicit Atomically(Connection& connection);
  ~Atomically();
  Atomically(const Atomically&) = delete;
  Atomically& operator=(const Atomically&) = delete;
  void commit();

 private:
  Connection& connection_;
  const bool nested_;
  bool open_ = true;
};

}  // namespace rooftile
