// Reading a file of an older schema without changing it: programs of that older version go on with
// it. Inside db/ only.
#pragma once

#include <cstdint>
#include <memory>

#include "db/connection.h"

namespace rooftile {

/// A reader copies no larger file into its memory. One machine's tuning fills some 1 MiB; what is
/// larger was merged from many machines' files.
inline constexpr std::int64_t kMostCopiedBytes = std::int64_t{64} << 20;

/// What is committed in `file` now, in the memory of this process, with the newest schema. `file`
/// is only read. Throws kDatabase for one that is too large, or that a newer program has migrated
/// meanwhile; SQLite::Exception.
std::unique_ptr<Connection> migrated_copy(Connection& file);

/// The same content once more, on a connection of its own.
std::unique_ptr<Connection> copy_in_memory(Connection& connection);

/// Attaches a copy of it to another connection, in memory. Not inside a transaction.
void attach_copy(Connection& connection, Connection& target, const char* schema);

}  // namespace rooftile
