// Whether a database can be where a path says. Inside db/ only.
#pragma once

#include <filesystem>

#include "db/store.h"

namespace rooftile {

/// Absolute, links resolved: SQLite puts its -wal next to the link's target, and setting aside must
/// rename the target. kInvalidArgument for an empty path, kIo.
std::filesystem::path resolved_path(const std::filesystem::path& path);

/// Makes missing folders (kReadWrite, mode 0700). kIo for a folder, a device or a place that cannot
/// be reached; kDatabase when there is nothing to read.
void prepare_place(const std::filesystem::path& path, OpenMode mode);

}  // namespace rooftile
