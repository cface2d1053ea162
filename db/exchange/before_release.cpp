#include "db/exchange/before_release.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "db/schema/schema.h"

namespace rooftile {
namespace {

/// Tables of a new database that the old file does not define as plain tables: a view or a virtual
/// table would run code that the file's author chooses. Only the text that defines an entry tells
/// what it is; its type and its page may be made up. A second definition of the name is an error.
constexpr const char* kNoTable =
    "SELECT t.name || '.' || c.name FROM main.sqlite_schema AS t, pragma_table_info(t.name) AS c"
    " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    " AND NOT EXISTS (SELECT 1 FROM old.sqlite_schema AS o WHERE o.name = t.name AND"
    "  (o.sql GLOB 'CREATE TABLE ' || t.name || ' (*'"
    "   OR o.sql GLOB 'CREATE TABLE \"' || t.name || '\" (*'))";
/// Columns that these tables do not hold as values: a generated one would run SQL of the author.
constexpr const char* kNoColumn =
    "SELECT t.name || '.' || c.name FROM main.sqlite_schema AS t, pragma_table_info(t.name) AS c"
    " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    " AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name, 'old') AS x"
    "  WHERE x.name = c.name AND x.hidden = 0)";

/// What copies each table. An index is not read, because it may hold expressions.
std::vector<std::string> copies(Connection& connection) {
  std::vector<std::string> statements;
  SQLite::Statement tables(
      connection.database(),
      "SELECT t.name, group_concat(c.name) FROM main.sqlite_schema AS t, pragma_table_info(t.name)"
      " AS c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' GROUP BY t.name");
  while (tables.executeStep()) {
    const std::string table = tables.getColumn(0), columns = tables.getColumn(1);
    statements.push_back(fmt::format("DELETE FROM main.{}", table));  // its own row of origins
    statements.push_back(fmt::format(
        "INSERT INTO main.{0} ({1}) SELECT {1} FROM old.{0} NOT INDEXED", table, columns));
  }
  return statements;
}

}  // namespace

std::string convert_before_release(const Connection& file, TemporaryName& copy) {
  std::error_code no_folder;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(no_folder);
  const int descriptor =
      no_folder ? -1 : copy.make_file((folder / "rooftile-import-XXXXXX").string());
  if (descriptor < 0)
    fail(ErrorCode::kIo,
         "cannot make a temporary file: {}; set TMPDIR to a folder that can be written",
         no_folder ? no_folder.message() : std::strerror(errno));
  ::close(descriptor);

  Connection fresh(copy.path(), Access::kReadWrite, file.busy_timeout_ms());
  fresh.limit_values();
  fresh.database().exec("PRAGMA journal_mode = OFF; PRAGMA foreign_keys = ON");
  create_schema(fresh);
  fresh.attach(file.path(), file.access(), "old");
  const std::int64_t version = fresh.integer("PRAGMA old.user_version");
  if (version != kLastVersionBeforeRelease)
    return fmt::format(
        "is of before Rooftile 0.1.0 and has schema version {}, of which only the last, {}, is "
        "read",
        version, kLastVersionBeforeRelease);
  for (const char* check : {kNoTable, kNoColumn})
    if (SQLite::Statement missing(fresh.database(), check); missing.executeStep())
      return fmt::format("is no tuning database as Rooftile made it before 0.1.0 ({} is missing)",
                         missing.getColumn(0).getString());
  // Pages of a made-up file may belong to many tables and rows.
  const std::int64_t page_bytes = fresh.integer("PRAGMA main.page_size"),
                     most_bytes = fresh.integer("PRAGMA main.page_count") * page_bytes +
                                  2 * fresh.integer("PRAGMA old.page_count") *
                                      fresh.integer("PRAGMA old.page_size");
  fresh.database().exec(fmt::format("PRAGMA main.max_page_count = {}", most_bytes / page_bytes));
  try {
    Atomically atomically(fresh);
    fresh.database().exec("PRAGMA defer_foreign_keys = ON");
    for (const std::string& sql : copies(fresh)) fresh.database().exec(sql);
    atomically.commit();
  } catch (const SQLite::Exception& error) {
    std::error_code unknown;
    if (error.getErrorCode() == SQLITE_FULL &&
        std::filesystem::space(copy.path(), unknown).available >
            static_cast<std::uintmax_t>(most_bytes) &&
        !unknown)
      return "is damaged (it has more rows than fit into its size)";
    if (!means_broken_rule(error)) throw;
    return fmt::format("holds data that no version of Rooftile writes ({})", error.what());
  }
  return {};
}

}  // namespace rooftile
