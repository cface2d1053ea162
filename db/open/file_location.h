// Where the path of a database leads. Internal to db/, but for refuse_links_of_others.
#pragma once

#include <filesystem>

#include "db/sqlite/store_options.h"

namespace rooftile {

/// Throws kIo where the path leads through a link that another user has put into a folder where
/// everyone may make entries, as /tmp is: that user would choose the file. The folder's owner may.
/// It is what Linux does for fs.protected_symlinks, which is not set everywhere and does not cover
/// paths that a program resolves itself.
void refuse_links_of_others(const std::filesystem::path& path);

/// Absolute, links resolved: SQLite puts its -wal next to the link's target, and setting aside must
/// rename the target. kInvalidArgument for an empty path, kIo, also for links of others. named: as
/// in StoreOptions.
std::filesystem::path resolved_path(const std::filesystem::path& path, std::string_view named);

/// The status of what lies at the path. Throws kIo where it cannot be found out. named: as in
/// StoreOptions.
std::filesystem::file_status status_of(const std::filesystem::path& path, std::string_view named);

}  // namespace rooftile
