// Where the path of a database leads, and whether one lies there. Internal to db/, but for what
// concerns any file: refuse_links_of_others, is_database and is_beside_database.
#pragma once

#include <filesystem>

#include "db/sqlite/store_options.h"

namespace rooftile {

/// Throws kIo where the path leads through a link that another user has put into a folder where
/// everyone may make entries, as /tmp is: that user would choose the file. The folder's owner may.
/// It is what Linux does for fs.protected_symlinks, which is not set everywhere and does not cover
/// paths that a program resolves itself.
void refuse_links_of_others(const std::filesystem::path& path);

/// Whether the file begins as every database of SQLite does. False where it cannot be read.
bool is_database(const std::filesystem::path& file);
/// Whether the name is that of a file which SQLite keeps beside a database (-wal, -shm, -journal),
/// and that database is there. What it holds is lost where another file takes this name.
bool is_beside_database(const std::filesystem::path& file);

/// Absolute, links resolved: SQLite puts its -wal next to the link's target, and setting aside must
/// rename the target. kInvalidArgument for an empty path, kIo, also for links of others. named: as
/// in StoreOptions.
std::filesystem::path resolved_path(const std::filesystem::path& path, std::string_view named);

/// The status of what lies at the path. Throws kIo where it cannot be found out. named: as in
/// StoreOptions.
std::filesystem::file_status status_of(const std::filesystem::path& path, std::string_view named);

}  // namespace rooftile
