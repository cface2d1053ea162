// The schema's history, embedded at build time from db/migrations/*.sql. Inside db/ only.
#pragma once

#include <string>
#include <vector>

namespace rooftile {

struct Migration {
  int version;       // of the schema once it is applied: 1, 2, 3, ...
  std::string file;  // "0001_tables.sql"
  std::string sql;
};

/// By version, without gaps.
const std::vector<Migration>& migrations();

}  // namespace rooftile
