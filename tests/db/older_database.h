// Files as older versions of Rooftile would have written them.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string>
#include <vector>

#include "db/migrations/schema.h"
#include "db/sqlite/connection.h"

namespace rooftile {

/// Creates a file with the schema of that version and copies the rows of an up-to-date file, as
/// far as the older schema can hold them.
inline void write_older(const std::filesystem::path& newest, const std::filesystem::path& older,
                        int schema_version) {
  Connection connection(older, Access::kReadWrite, 1000);
  connection.text("PRAGMA journal_mode = WAL");
  migrate(connection, schema_version);
  connection.attach(newest, Access::kReadOnly, "newest");
  SQLite::Database& database = connection.database();
  std::vector<std::string> copies;
  SQLite::Statement tables(
      database,
      "SELECT t.name, group_concat(c.name) FROM main.sqlite_schema AS t"
      " JOIN pragma_table_info(t.name) AS c"
      " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' GROUP BY t.name");
  while (tables.executeStep()) {
    const std::string table = tables.getColumn(0), columns = tables.getColumn(1);
    copies.push_back("DELETE FROM main." + table);  // The migration adds its own row of origins.
    copies.push_back("INSERT INTO main." + table + " (" + columns + ") SELECT " + columns +
                     " FROM newest." + table);
  }
  tables.reset();
  for (const std::string& sql : copies) database.exec(sql);
  connection.detach("newest");
}

}  // namespace rooftile
