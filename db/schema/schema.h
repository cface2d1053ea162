// The schema of a file: which program owns the file, how the schema is created, and what is wrong
// with it. Internal to db/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/sqlite/connection.h"

namespace rooftile {

/// "Roof" in SQLite's header, by which file(1) and Rooftile distinguish a tuning database from
/// other SQLite files.
inline constexpr std::int64_t kApplicationId = 0x526f6f66;
/// "Rftl", that of files of before 0.1.0, whose schema is another one.
inline constexpr std::int64_t kIdBeforeRelease = 0x5266746c;
inline constexpr std::int64_t kLastVersionBeforeRelease = 12;

/// PRAGMA user_version of tables.sql and views.sql.
inline constexpr int kSchemaVersion = 1;

enum class Owner : std::uint8_t {
  kNone,  // new or empty: it may become a tuning database
  kRooftile,
  kBeforeRelease,  // kIdBeforeRelease
  kOtherProgram
};
struct FileIdentity {
  Owner owner = Owner::kNone;
  std::int64_t application_id = 0;
  std::int64_t schema_version = 0;
};

/// Reads the header and, where that does not decide, the schema. Throws SQLite::Exception, also for
/// damage (means_damage()).
FileIdentity identify(Connection& connection);

/// Creates the schema where a file has none, in one transaction. Several processes may do so at
/// once.
void create_schema(Connection& connection);

/// All defects that SQLite and Rooftile can find, one line each. Reads the whole file.
std::vector<std::string> find_damage(Connection& connection);
/// Values that a CHECK of their table forbids, and other defects of a sound file's rows, one line
/// each. SQLite leaves CHECKs out where it may only read, so they are evaluated on a temporary
/// copy, which goes to the disk where it is large. Throws SQLite::Exception.
std::vector<std::string> find_broken_rules(Connection& connection);
/// Tables, views and indices that are missing, altered or unknown, compared with those of a new
/// file.
std::vector<std::string> compare_schema(Connection& connection);

}  // namespace rooftile
