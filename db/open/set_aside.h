// Renames a damaged file, so that a new one can be created and nothing is lost. Internal to db/.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace rooftile {

/// Renames path and the -wal, -shm and -journal files next to it to NAME.damaged-<UTC time>,
/// without overwriting anything, and returns the file's new path. It calls still_damaged() under a
/// lock that excludes other processes, also those that are opening the file; where that returns
/// false, nothing is renamed and the result is empty. Throws kIo, and kDatabase where another
/// process holds the lock for more than wait_ms.
std::filesystem::path set_aside(const std::filesystem::path& path, int wait_ms,
                                const std::function<bool()>& still_damaged);

}  // namespace rooftile
