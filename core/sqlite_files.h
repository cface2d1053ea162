// What files of SQLite are called, and how they begin.
#pragma once

#include <array>
#include <string_view>

namespace rooftile {

/// What SQLite appends to the name of a database for the files that it keeps beside it.
inline constexpr std::array<std::string_view, 3> kBesideDatabases = {"-wal", "-shm", "-journal"};
/// The first bytes of every database, with the zero at their end.
inline constexpr std::string_view kDatabaseBegin("SQLite format 3", 16);

}  // namespace rooftile
