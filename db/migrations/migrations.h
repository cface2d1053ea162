// The history of the schema, embedded at build time from db/migrations/*.sql. Internal to db/.
#pragma once

#include <string>
#include <vector>

namespace rooftile {

struct Migration {
  int version;       // version of the schema after the migration: 1, 2, 3, ...
  std::string file;  // "0001_tables.sql"
  std::string sql;
};

/// All migrations by version, without gaps.
const std::vector<Migration>& migrations();

}  // namespace rooftile
