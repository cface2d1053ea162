#include "runtime/tuned/wanted_device.h"

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "runtime/kernel/cache_fault.h"
#include "runtime/support/background.h"

namespace rooftile {
namespace {

bool contains(std::string text, std::string part) {
  const auto lower = [](std::string& s) {
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
  };
  lower(text);
  lower(part);
  return text.find(part) != std::string::npos;
}

}  // namespace

bool is_wanted(const DeviceProfile& device, const std::string& text) {
  return text.empty() || contains(device.name, text) || contains(device.device_uuid, text);
}

bool same_product(const DeviceProfile& x, const DeviceProfile& y) {
  return x.vendor_id == y.vendor_id && x.device_id == y.device_id;
}

bool same_product_and_driver(const DeviceProfile& x, const DeviceProfile& y) {
  return same_product(x, y) && x.driver_id == y.driver_id;
}

bool same_device(const DeviceProfile& x, const DeviceProfile& y) {
  return x.device_uuid == y.device_uuid && same_product_and_driver(x, y) &&
         x.driver_version == y.driver_version && x.pipeline_cache_uuid == y.pipeline_cache_uuid;
}

std::shared_ptr<Device> open_tuned_device(const DeviceProfile& profile,
                                          const std::filesystem::path& cache_folder) {
  // At exit, drivers and their libraries (LLVM) tear themselves down in exit handlers of their own.
  // Handlers that are registered after theirs run before.
  load_drivers();
  if (!Background::wait_at_exit())
    fail(ErrorCode::kDevice, "{} is not opened: the process is ending", profile.name);
  check_not_forked();  // Else the list would be empty, as if the device were not here.
  const Enumeration found = enumerate_devices();
  const auto match = std::find_if(found.devices.begin(), found.devices.end(),
                                  [&](const DeviceProfile& d) { return same_device(d, profile); });
  if (match == found.devices.end())
    fail(
        ErrorCode::kDevice,
        "the tuned device '{}' ({}) is not here or its driver has changed{}{}; run `rooftile tune`",
        profile.name, profile.driver_info, found.note.empty() ? "" : ": ", found.note);
  std::shared_ptr<Device> opened = Device::open(*match, {.cache_folder = cache_folder});
  say_cache_fault(*opened);
  return opened;
}

}  // namespace rooftile
