// The driver's pipeline cache on disk: private to the user, checksummed, bound to one device and
// driver. Compiled code is untrusted the moment anything about its file looks wrong. Private to
// runtime/device.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/device_profile.h"

namespace rooftile {

/// Names the device and the driver: two of them never share a file.
std::string pipeline_cache_file_name(const DeviceProfile& profile);

struct LoadedPipelineCache {
  std::string
      data;  // what vkGetPipelineCacheData gave; empty unless the file is good in every respect
  std::string note;      // why data is empty
  bool missing = false;  // there is no file
};
/// Refuses, with a note and never a throw: a missing file, a link, another user's file or one that
/// others can write, a damaged one, and one of another device, driver or format.
LoadedPipelineCache load_pipeline_cache(const std::filesystem::path& file,
                                        const DeviceProfile& profile);

/// Temporary file (0600) and rename, so that a reader sees the old file or the new one; makes the
/// folder (0700) if it is missing. Throws kIo.
void store_pipeline_cache(const std::filesystem::path& file, const DeviceProfile& profile,
                          std::string_view data);

}  // namespace rooftile
