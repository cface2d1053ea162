// Renames a damaged file, so that a new one can be created and nothing is lost. Internal to db/.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace rooftile {

/// Renames path and the -wal, -shm and -journal files next to it to NAME.damaged-<UTC time>,
/// without overwriting anything, and returns the file's new path. It calls still_damaged() under a
/// lock that excludes other processes; where that returns false, nothing is renamed and the result
/// is empty. Throws kIo.
std::filesystem::path set_aside(const std::filesystem::path& path,
                                const std::function<bool()>& still_damaged);

}  // namespace rooftile
