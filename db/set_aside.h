// Getting a damaged file out of the way without losing it. Inside db/ only.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace rooftile {

/// Renames path and the -wal, -shm and -journal next to it to NAME.damaged-<UTC time>. Overwrites
/// nothing. still_damaged is asked again once no other process can be doing the same: false, and
/// nothing happens and the result is empty. Otherwise the file's new path. Throws kIo.
std::filesystem::path set_aside(const std::filesystem::path& path,
                                const std::function<bool()>& still_damaged);

}  // namespace rooftile
