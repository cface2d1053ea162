// The schema's history, embedded at build time from db/migrations/*.sql. Inside db/ only.
#pragma once

#include <span>

namespace rooftile {

struct Migration {
  int version;       // of the schema once it is applied: 1, 2, 3, ...
  const char* file;  // "0001_tables.sql"
  const char* sql;
};

/// By version, without gaps.
std::span<const Migration> migrations();

}  // namespace rooftile
