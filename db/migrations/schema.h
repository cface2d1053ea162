// The schema of a file: which program owns the file, how old its schema is, how it is migrated, and
// what is wrong with it. Internal to db/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite/connection.h"

namespace rooftile {

/// "Rftl" in SQLite's header, by which file(1) and Rooftile distinguish a tuning database from
/// other SQLite files.
inline constexpr std::int64_t kApplicationId = 0x5266746c;

int newest_schema_version();

enum class Owner : std::uint8_t {
  kNone,  // new or empty: it may become a tuning database
  kRooftile,
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

/// Throws kDatabase for a file of another program and for one of a newer Rooftile. Changes nothing.
/// named: as in StoreOptions.
void refuse_unusable(const FileIdentity& identity, const Connection& connection,
                     std::string_view named);

/// Applies the missing migrations, each in a transaction of its own. Several processes may do so at
/// once.
void migrate(Connection& connection, int target_version = newest_schema_version());

/// All defects that SQLite and Rooftile can find, one line each. Reads the whole file.
std::vector<std::string> find_damage(Connection& connection);
/// Values that a CHECK of their table forbids, and other defects of a sound file's rows, one line
/// each. SQLite leaves CHECKs out where it may only read, so they are evaluated on a temporary
/// copy, which goes to the disk where it is large. Throws SQLite::Exception.
std::vector<std::string> find_broken_rules(Connection& connection);
/// Tables, views and indices that are missing, altered or unknown, compared with a new schema of
/// the same version.
std::vector<std::string> compare_schema(Connection& connection);

}  // namespace rooftile
