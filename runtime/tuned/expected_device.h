// A device that nobody has tuned here, but that other machines have measured.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "runtime/device/physical/pci.h"
#include "runtime/tuned/tuned_data.h"

namespace rooftile {

/// Fills in TunedData::expected, `guesses_host` and the model where the data has no tuned device:
/// of a device that the database knows from other machines, or else that comes with Rooftile. A GPU
/// must be among `gpus`; a software device must be in the database. Opens no driver, and no shipped
/// file where there are no GPUs. wanted_device: as for load_tuned_data.
void expect_device(TunedData& data, const std::string& wanted_device,
                   const std::filesystem::path& shipped_folder, std::span<const PciGpu> gpus);

/// Whether this is the product, with the driver, for which the data has a model.
bool is_expected(const TunedData& data, const DeviceProfile& device);

}  // namespace rooftile
