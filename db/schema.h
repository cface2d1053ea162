// Whose file it is, how old its schema is, and bringing it up to date. Inside db/ only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"

namespace rooftile {

/// "Rftl" in SQLite's header, so that file(1) and we know a tuning database from other SQLite
/// files.
inline constexpr std::int64_t kApplicationId = 0x5266746c;

int newest_schema_version();

enum class Owner : std::uint8_t {
  kNobody,  // new or empty: may be made ours
  kRooftile,
  kSomebodyElse
};
struct FileIdentity {
  Owner owner = Owner::kNobody;
  std::int64_t application_id = 0;
  std::int64_t schema_version = 0;
};

/// Reads the header and, where that does not settle it, the schema. Throws SQLite::Exception,
/// means_damage() among them.
FileIdentity identify(Connection& connection);

/// kDatabase for somebody else's file and for one from a newer Rooftile. Changes nothing.
void refuse_unusable(const FileIdentity& identity, const Connection& connection);

/// Applies what is missing, each migration in a transaction of its own. Any number of processes may
/// do so at once.
void migrate(Connection& connection, int target_version = newest_schema_version());

/// Everything SQLite and we can find wrong, one line each; reads the whole file.
std::vector<std::string> find_damage(Connection& connection);
/// Tables, views and indices that are missing, altered or strange, compared with a fresh schema of
/// the same version.
std::vector<std::string> compare_schema(Connection& connection);

}  // namespace rooftile
