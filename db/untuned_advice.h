// What the commands and the runtime say of a device without certified kernels.
#pragma once

#include <string>

#include "db/store.h"

namespace rooftile {

/// What makes kernels of this device usable: certifying what was imported for it, or tuning. Half a
/// sentence that follows "no certified kernel: ".
std::string untuned_advice(const Store& store, const DeviceRecord& device);

}  // namespace rooftile
