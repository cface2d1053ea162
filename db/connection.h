// One SQLite connection with its prepared statements. Inside db/ only.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "db/sqlite_error.h"

namespace rooftile {

enum class Access : std::uint8_t {
  kReadWrite,  // creates the file
  kReadOnly,
  kImmutable,  // read-only where not even SQLite's shared memory file can be made; nobody may write
               // meanwhile
  kMemory,     // a database of its own, empty at first; path only says where its content is from
};

class Connection {
 public:
  /// Opens, which reads nothing yet. Throws SQLite::Exception.
  Connection(const std::filesystem::path& path, Access access, int busy_timeout_ms);

  SQLite::Database& database() { return database_; }
  const std::filesystem::path& path() const { return path_; }
  Access access() const { return access_; }
  int busy_timeout_ms() const { return busy_timeout_ms_; }
  bool in_transaction() const;
  std::int64_t integer(const char* sql);  // first column of the first row
  std::string text(const char* sql);
  /// For reading, whatever access says; path absolute. Not inside a transaction.
  void attach(const std::filesystem::path& path, Access access, const char* schema);
  void detach(const char* schema);

  /// Runs body; what SQLite throws becomes an Error that says what was being done and to which
  /// file.
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
  SQLite::Database database_;
  std::unordered_map<std::string_view, SQLite::Statement> statements_;
};

/// A statement on loan from its connection, prepared once. Going out of scope resets it: a
/// statement left at a row would keep its snapshot of the file, and the write-ahead log could not
/// shrink.
class Sql {
 public:
  /// sql: a literal; it is the key of the prepared statement.
  Sql(Connection& connection, const char* sql) : statement_(connection.prepared(sql)) {}
  ~Sql() { statement_.tryReset(); }
  Sql(const Sql&) = delete;
  Sql& operator=(const Sql&) = delete;

  /// Next free parameter.
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
  /// Nothing is NULL.
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

  // Columns of the current row, one after the other.
  std::int64_t integer() { return statement_.getColumn(column_++).getInt64(); }
  double real() { return statement_.getColumn(column_++).getDouble(); }
  std::string text() { return statement_.getColumn(column_++).getString(); }
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

/// Several statements as one: a transaction that takes the write lock at once (a lock taken later
/// can be refused without waiting), or a savepoint inside one that is open already. Undone unless
/// committed.
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
