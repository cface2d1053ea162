#include "runtime/tuned/expected_device.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "db/store.h"
#include "runtime/device/physical/device_order.h"
#include "runtime/tuned/imported_data.h"
#include "runtime/tuned/shipped_devices.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {
namespace {

/// Devices of the database, the best kind first.
std::vector<DeviceProfile> known_devices(const std::filesystem::path& database) try {
  std::vector<DeviceProfile> devices;
  if (database.empty()) return devices;
  const Store store(database,
                    {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kDatabasePatienceMs});
  for (DeviceRecord& record : store.devices()) devices.push_back(std::move(record.profile));
  std::ranges::stable_sort(devices, {}, [](const DeviceProfile& d) { return rank(d.kind); });
  return devices;
} catch (const Error&) {  // Another process locks it.
  return {};
}

bool is_among(std::span<const PciGpu> gpus, const DeviceProfile& device) {
  return std::ranges::find(gpus, PciGpu{device.vendor_id, device.device_id}) != gpus.end();
}

}  // namespace

bool ExpectedDevice::is(const DeviceProfile& other) const {
  return same_product_and_driver(device, other);
}

std::optional<ExpectedDevice> expected_device(const TunedData& data,
                                              const std::string& wanted_device,
                                              const std::filesystem::path& shipped_folder,
                                              std::span<const PciGpu> gpus) {
  std::vector<DeviceProfile> candidates = known_devices(data.file);
  std::erase_if(candidates, [&](const DeviceProfile& device) {
    return device.kind != DeviceKind::kSoftware && !is_among(gpus, device);
  });
  if (!gpus.empty())
    for (DeviceProfile& device : shipped_profiles(shipped_folder))
      if (is_among(gpus, device)) candidates.push_back(std::move(device));
  for (const DeviceProfile& device : candidates) {
    if (!is_wanted(device, wanted_device)) continue;
    const ImportedData imported = imported_data(data.file, shipped_folder, device);
    const Calibration& theirs = imported.calibration;
    if (!is_calibrated(theirs.device) || !is_calibrated(theirs.host)) continue;
    Calibration rates = theirs;
    const bool knows_host = data.calibrated_device && is_calibrated(data.calibration.host);
    if (knows_host) rates.host = data.calibration.host, rates.host1 = data.calibration.host1;
    if (knows_host && is_calibrated(data.calibration.device) &&
        same_product_and_driver(*data.calibrated_device, device))
      rates = data.calibration;
    return ExpectedDevice{.device = device,
                          .model = DispatchModel(rates, device.kind, imported.times,
                                                 imported.ranking.predicted_classes()),
                          .guesses_host = !knows_host};
  }
  return std::nullopt;
}

}  // namespace rooftile
