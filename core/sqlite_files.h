// Names and first bytes of SQLite's files.
#pragma once

#include <array>
#include <string_view>

namespace rooftile {

/// SQLite appends these to the name of a database for the files that it keeps beside it.
inline constexpr std::array<std::string_view, 3> kBesideDatabases = {"-wal", "-shm", "-journal"};
/// The first bytes of every database, with the zero at their end.
inline constexpr std::string_view kDatabaseBegin("SQLite format 3", 16);

}  // namespace rooftile
