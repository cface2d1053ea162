// Kernels that other machines measured on this product under this driver, of any version. None of
// them is certified here: they are the first candidates of kernels that are certified on demand.
#pragma once

#include <filesystem>

#include "core/device_profile.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

/// Ranks what was imported into the database, for this device before other cards of its product,
/// and then what comes with Rooftile. Times and rates are those of the machines that measured them;
/// kernels that a machine has blocked are left out. Empty where there is none. Neither the database
/// nor the folder need exist; a file that cannot be read is passed over.
KernelRanking imported_ranking(const std::filesystem::path& database,
                               const std::filesystem::path& shipped_folder,
                               const DeviceProfile& device);

}  // namespace rooftile
