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

/// Whether it is a regular file that begins as every database of SQLite does. False where it cannot
/// be read. The file is opened and closed, which takes this process's locks of it: not for a
/// database that will be used further.
bool is_database(const std::filesystem::path& file);
/// Whether a database is there that SQLite would keep a file of this name beside (-wal, -shm,
/// -journal). Another file of the name would take the place of its last changes, or be played back
/// into it. The same holds of locks.
bool is_beside_database(const std::filesystem::path& file);

/// Absolute, links resolved: SQLite puts its -wal next to the link's target, and setting aside must
/// rename the target. kInvalidArgument for an empty path, kIo, also for links of others. named: as
/// in StoreOptions.
std::filesystem::path resolved_path(const std::filesystem::path& path, std::string_view named);

/// The status of what lies at the path. Throws kIo where it cannot be found out. named: as in
/// StoreOptions.
std::filesystem::file_status status_of(const std::filesystem::path& path, std::string_view named);

}  // namespace rooftile
