// Databases of devices that were measured elsewhere and come with the program: where a machine has
// such a device, tuning begins with them (docs/sharing.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/device_profile.h"

namespace rooftile {

class Store;

/// A device of a shipped file that is of the same product as one of this machine.
struct ShippedDevice {
  std::filesystem::path file;
  std::string name, driver;  ///< driver: with its version
  bool same_driver = false;  ///< Of any version: its kernels are certified here.
  std::size_t kernels = 0;   ///< Ranked ones.
};

/// Devices of the files of `folder` with this vendor and product, in the order of the files' names.
/// A file that cannot be read is reported on stderr and left out.
std::vector<ShippedDevice> shipped_devices(const std::filesystem::path& folder,
                                           const DeviceProfile& device);
/// The folder beside this program; it need not exist.
std::filesystem::path shipped_folder();
/// "kernels that were measured elsewhere: 112 on NVIDIA H200 (NVIDIA 580.159.04)".
std::string shipped_text(const std::vector<ShippedDevice>& shipped);

/// Imports the files of `shipped`, and returns those that brought anything new. A file that is
/// refused is reported on stderr: tuning goes on without it.
std::vector<ShippedDevice> import_shipped(Store& store, const std::vector<ShippedDevice>& shipped);

}  // namespace rooftile
