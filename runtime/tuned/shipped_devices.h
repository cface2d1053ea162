// Databases of devices that were measured elsewhere and come with Rooftile (docs/sharing.md). Where
// a machine has such a device, tuning and on-demand kernels begin with them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "db/tables/records.h"

namespace rooftile {

/// A device of a shipped file that is of the same product as one of this machine.
struct ShippedDevice {
  std::filesystem::path file;
  RowId row = 0;             ///< In that file.
  std::string name, driver;  ///< driver: with its version
  bool same_driver = false;  ///< Of any version: its kernels are certified here.
  std::size_t kernels = 0;   ///< Ranked ones that are not blocked there.
};

/// The folder share/rooftile/devices of the prefix in whose bin, lib or libexec this program lies,
/// or the library that holds this code; or of their build tree. It need not exist; "": there is
/// none.
std::filesystem::path shipped_folder();

/// How long a shipped file is waited for that another process locks, which no Rooftile does.
inline constexpr int kShippedPatienceMs = 100;

/// Devices of the files of `folder` with this vendor and product, in the order of the files' names.
/// A file that cannot be read, or that an import would refuse, gives a warning and is left out.
std::vector<ShippedDevice> shipped_devices(const std::filesystem::path& folder,
                                           const DeviceProfile& device);
/// Devices of all of these files, in the same order: what a file says that may be left out.
std::vector<DeviceProfile> shipped_profiles(const std::filesystem::path& folder);
/// Warns, once for each file, that it is left out.
void warn_left_out(const std::filesystem::path& shipped_file);

}  // namespace rooftile
