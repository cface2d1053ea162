// Reads a file of an older schema without changing it, because programs of the older version still
// use it. Internal to db/.
#pragma once

#include <cstdint>
#include <memory>

#include "db/sqlite/connection.h"

namespace rooftile {

/// The largest file that a reader copies into memory. One machine's tuning takes some 1 MiB; a
/// larger file was merged from those of many machines.
inline constexpr std::int64_t kMostCopiedBytes = std::int64_t{64} << 20;

/// A copy in memory of what is committed in `file` now, with the newest schema. `file` is only
/// read. Throws kDatabase for one that is too large, or that a newer program has migrated
/// meanwhile; SQLite::Exception.
std::unique_ptr<Connection> migrated_copy(Connection& file, std::string_view named);

/// A second copy of the same content, on a connection of its own.
std::unique_ptr<Connection> copy_in_memory(Connection& connection);

/// Attaches a copy of it, in memory, to another connection. Not allowed inside a transaction.
void attach_copy(Connection& connection, Connection& target, const char* schema);

}  // namespace rooftile
