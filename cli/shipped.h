// Importing and describing the data of measured devices that comes with Rooftile.
#pragma once

#include <string>
#include <vector>

#include "runtime/tuned/shipped_devices.h"

namespace rooftile {

class Store;

/// "kernels that were measured elsewhere: 112 on NVIDIA H200 (NVIDIA 580.159.04)".
std::string shipped_text(const std::vector<ShippedDevice>& shipped);

/// Imports the files of `shipped`, and returns those that brought anything new. A file that is
/// refused is reported on stderr: tuning goes on without it.
std::vector<ShippedDevice> import_shipped(Store& store, const std::vector<ShippedDevice>& shipped);

}  // namespace rooftile
