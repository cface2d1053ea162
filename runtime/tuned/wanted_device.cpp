#include "runtime/tuned/wanted_device.h"

#include <algorithm>
#include <cctype>

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

bool same_device(const DeviceProfile& x, const DeviceProfile& y) {
  return x.device_uuid == y.device_uuid && x.vendor_id == y.vendor_id &&
         x.device_id == y.device_id && x.driver_id == y.driver_id &&
         x.driver_version == y.driver_version && x.pipeline_cache_uuid == y.pipeline_cache_uuid;
}

}  // namespace rooftile
