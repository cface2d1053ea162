// Finds a device of this machine that other machines have measured, where nothing is tuned here.
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

/// Returns the first device with rates of device and host that the database knows from other
/// machines, or else that comes with Rooftile. `data` is that of a context without a tuned device;
/// wanted_device is as for load_tuned_data. A GPU must be among `gpus`, a software device in the
/// database. Opens no driver, and no shipped file where there are no GPUs. Takes tens of
/// milliseconds where there is a device.
std::optional<ExpectedDevice> expected_device(const TunedData& data,
                                              const std::string& wanted_device,
                                              const std::filesystem::path& shipped_folder,
                                              std::span<const PciGpu> gpus);

}  // namespace rooftile
