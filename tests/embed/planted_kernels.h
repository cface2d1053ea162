// Databases with kernels of every kind.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "db/store.h"
#include "generator/signature.h"

namespace rooftile {

/// Types, transposes and epilogues of every kind.
const std::vector<std::string>& planted_classes();

/// Plants, for each class, tuned problems and a portfolio of certified kernels that are legal on
/// the device and that `keep` accepts: `most` of them, among which each value of each parameter
/// occurs if there is room for it, and the plain kernel.
void plant_kernels(Store& store, const DeviceProfile& device,
                   const std::vector<std::string>& classes, std::size_t most,
                   const std::function<bool(const Variant&, const Signature&)>& keep);

}  // namespace rooftile
