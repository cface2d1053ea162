// A device that nobody has tuned here, but that other machines have measured.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "runtime/device/physical/pci.h"
#include "runtime/tuned/tuned_data.h"

namespace rooftile {

struct ExpectedDevice {
  DeviceProfile device;  ///< As the other machine recorded it.
  DispatchModel model;   ///< Of the other machine's rates, but for what was calibrated here.
  bool guesses_host;     ///< The model's host is the other machine's, too.

  /// Whether this is the product, with the driver.
  bool is(const DeviceProfile& other) const;
};

/// One that the database knows from other machines, or else that comes with Rooftile, for a context
/// whose data has no tuned device; no value: there is none with rates of device and host. A GPU
/// must be among `gpus`; a software device must be in the database. Opens no driver, and no shipped
/// file where there are no GPUs. wanted_device: as for load_tuned_data. Takes tens of milliseconds
/// where there is one.
std::optional<ExpectedDevice> expected_device(const TunedData& data,
                                              const std::string& wanted_device,
                                              const std::filesystem::path& shipped_folder,
                                              std::span<const PciGpu> gpus);

}  // namespace rooftile
