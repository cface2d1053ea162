// The driver's pipeline cache on disk: private to the user, checksummed, and bound to one device
// and driver. Compiled code is trusted only if its file passes every check. Private to
// runtime/device.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/device_profile.h"

namespace rooftile {

/// Returns a file name that identifies device and driver, so that two of them never share a file.
std::string pipeline_cache_file_name(const DeviceProfile& profile);

struct LoadedPipelineCache {
  /// Result of vkGetPipelineCacheData; empty unless the file passes every check.
  std::string data;
  std::string note;      ///< Why data is empty.
  bool missing = false;  ///< There is no file.
};
/// Loads the file. Refuses with a note, and never an exception: a missing file, a link, a file of
/// another user or one that others can write, a damaged file, and one of another device, driver or
/// format.
LoadedPipelineCache load_pipeline_cache(const std::filesystem::path& file,
                                        const DeviceProfile& profile);

/// Stores the cache by a temporary file (0600) and a rename, so that a reader sees the old file or
/// the new one. Creates the folder (0700) if it is missing. Throws kIo.
void store_pipeline_cache(const std::filesystem::path& file, const DeviceProfile& profile,
                          std::string_view data);

}  // namespace rooftile
