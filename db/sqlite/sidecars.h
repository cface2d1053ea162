// The files that SQLite opens by itself beside a database. Internal to db/.
#pragma once

#include <filesystem>

namespace rooftile {

/// Throws kIo where the -wal, -shm or -journal beside the database is no regular file (SQLite would
/// wait for a pipe without end), or where it is a stranger's: in a folder that others may write to,
/// it must belong to the effective user, to root, or to the owner of the database. SQLite takes
/// such a file for its own and writes its content into the database. Others may write to a folder
/// that is writable for all, or for a group and sticky; in one that a group shares otherwise, each
/// member may replace the database itself, and the files may be anyone's. path: of the database,
/// which need not exist; links are resolved as SQLite does.
void refuse_strange_sidecars(const std::filesystem::path& path);

}  // namespace rooftile
