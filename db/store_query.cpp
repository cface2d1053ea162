// Store::query runs SQL of users on a connection of its own that can only read this file.
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <memory>

#include "core/error.h"
#include "db/store_impl.h"

namespace rooftile {
namespace {

constexpr std::array<std::string_view, 9> kReadingPragmas = {
    "table_list",  "table_info",       "table_xinfo",  "index_list",    "index_info",
    "index_xinfo", "foreign_key_list", "user_version", "application_id"};

/// SQLite calls this for every action of a statement while it compiles it. sqlite3_stmt_readonly
/// refuses statements that write. The actions below do not count as writes, but ATTACH reads and
/// creates other files, and an open transaction or a changed setting would outlive the query.
int allow_reading_only(void*, int action, const char* first, const char* second, const char*,
                       const char*) {
  switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      return SQLITE_DENY;
    case SQLITE_PRAGMA: {
      const std::string_view pragma = first;
      if (second != nullptr && (pragma == "user_version" || pragma == "application_id"))
        return SQLITE_DENY;
      return std::ranges::find(kReadingPragmas, pragma) != kReadingPragmas.end() ? SQLITE_OK
                                                                                 : SQLITE_DENY;
    }
    default:
      return SQLITE_OK;
  }
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Statement compile(sqlite3* handle, std::string_view sql, const char** rest) {
  sqlite3_stmt* compiled = nullptr;
  const int code =
      sqlite3_prepare_v2(handle, sql.data(), static_cast<int>(sql.size()), &compiled, rest);
  Statement statement(compiled);
  if (code == SQLITE_AUTH || (statement != nullptr && sqlite3_stmt_readonly(compiled) == 0))
    fail(ErrorCode::kDatabase,
         "the query would do more than read the tuning database; only SELECT is possible here");
  if (code != SQLITE_OK)
    fail(ErrorCode::kDatabase, "the query cannot be run: {}", sqlite3_errmsg(handle));
  return statement;
}

std::string column_text(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr
             ? ""
             : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

Store::CellKind kind_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return Store::CellKind::kNull;
    case SQLITE_INTEGER:
      return Store::CellKind::kInteger;
    case SQLITE_FLOAT:
      return Store::CellKind::kReal;
    default:
      return Store::CellKind::kText;
  }
}

}  // namespace

Store::Table Store::query(const std::string& sql) const {
  constexpr std::size_t kMaxSqlBytes = 1 << 20;
  if (sql.size() > kMaxSqlBytes || sql.find('\0') != std::string::npos)
    fail(ErrorCode::kInvalidArgument, "a query is at most {} bytes of text without a zero byte",
         kMaxSqlBytes);
  return impl_->guarded("running a query", [&] {
    if (!impl_->query_connection) {
      const Access access = impl_->connection->access();
      impl_->query_connection = std::make_unique<Connection>(
          path(), access == Access::kReadWrite ? Access::kReadOnly : access,
          impl_->options.busy_timeout_ms);
      sqlite3_set_authorizer(impl_->query_connection->database().getHandle(), allow_reading_only,
                             nullptr);
    }
    sqlite3* handle = impl_->query_connection->database().getHandle();

    const char* rest = nullptr;
    const Statement statement = compile(handle, sql, &rest);
    if (statement == nullptr) fail(ErrorCode::kInvalidArgument, "the query is empty");
    const std::string_view tail(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
    if (compile(handle, tail, &rest) != nullptr)
      fail(ErrorCode::kInvalidArgument,
           "the query has more than one statement; run them one at a time");

    Table table;
    const int columns = sqlite3_column_count(statement.get());
    for (int i = 0; i < columns; ++i)
      table.columns.emplace_back(sqlite3_column_name(statement.get(), i));
    int code = SQLITE_OK;
    while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
      std::vector<std::string>& row = table.rows.emplace_back();
      row.reserve(static_cast<std::size_t>(columns));
      std::vector<CellKind>& kinds = table.kinds.emplace_back();
      for (int i = 0; i < columns; ++i) {
        kinds.push_back(kind_of(statement.get(), i));  // before the value is converted to text
        row.push_back(column_text(statement.get(), i));
      }
    }
    if (code != SQLITE_DONE) throw SQLite::Exception(handle, code);
    return table;
  });
}

}  // namespace rooftile
