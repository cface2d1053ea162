#include "db/untuned_advice.h"

#include <fmt/format.h>

namespace rooftile {

std::string untuned_advice(const Store& store, const DeviceRecord& device) {
  if (store.imported_kernels(device.id).empty()) return "run `rooftile tune`";
  return fmt::format(
      "kernels for {} (driver {}) were imported but are not certified on this machine; run "
      "`rooftile tune --refresh`",
      device.profile.name, device.profile.driver_info);
}

}  // namespace rooftile
