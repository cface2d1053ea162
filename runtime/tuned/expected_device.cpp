#include "runtime/tuned/expected_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text_table.h"
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

void expect_device(TunedData& data, const std::string& wanted_device,
                   const std::filesystem::path& shipped_folder, std::span<const PciGpu> gpus) {
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
    if (imported.times.empty() || !is_calibrated(theirs.device) || !is_calibrated(theirs.host))
      continue;
    const bool calibrated_here =
        data.calibrated_device && same_product(*data.calibrated_device, device) &&
        is_calibrated(data.calibration.device) && is_calibrated(data.calibration.host);
    data.model = DispatchModel(calibrated_here ? data.calibration : theirs, device.kind,
                               imported.times, imported.ranking.predicted_classes());
    data.expected = device;
    data.guesses_host = !calibrated_here;
    data.note += fmt::format("; until then, repeated calls move to {} where it is faster",
                             cleaned_text(device.name));
    return;
  }
}

bool is_expected(const TunedData& data, const DeviceProfile& device) {
  return data.expected && same_product(*data.expected, device) &&
         data.expected->driver_id == device.driver_id;
}

}  // namespace rooftile
