// Reads what other machines measured on this product under this driver, of any version. None of the
// kernels is certified here: they are the first candidates of kernels that are certified on demand.
#pragma once

#include <filesystem>
#include <vector>

#include "core/device_profile.h"
#include "runtime/model/calibration.h"
#include "runtime/model/predict.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

struct ImportedData {
  KernelRanking ranking;
  Calibration calibration;       ///< Of the first machine that has one, its host included.
  std::vector<TunedTime> times;  ///< Of each problem's best kernel.
};

/// Reads what was imported into the database, for this device before other cards of its product,
/// and then what comes with Rooftile. It leaves out kernels that a machine has blocked. The result
/// has no classes and no rates where there is nothing. Neither the database nor the folder need
/// exist; a file that cannot be read is passed over.
ImportedData imported_data(const std::filesystem::path& database,
                           const std::filesystem::path& shipped_folder,
                           const DeviceProfile& device);

}  // namespace rooftile
