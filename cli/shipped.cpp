#include "cli/shipped.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "core/device_text.h"
#include "core/error.h"
#include "db/store.h"

namespace rooftile {

namespace fs = std::filesystem;

namespace {

void report_left_out(const fs::path& file) {
  fmt::print(stderr,
             "rooftile: {} should hold the data of a measured device, which came with Rooftile; it "
             "is left out: `rooftile --db {} db check` says why\n",
             file.string(), file.string());
}

}  // namespace

fs::path shipped_folder() {
  std::error_code unknown;
  const fs::path own = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  const fs::path built = own / "share/rooftile/devices";
  return fs::is_directory(built, unknown) ? built
                                          : (own / ROOFTILE_DEVICES_FOLDER).lexically_normal();
}

std::vector<ShippedDevice> shipped_devices(const fs::path& folder, const DeviceProfile& device) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    if (entry.path().extension() == ".db") files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<ShippedDevice> shipped;
  for (const fs::path& file : files) {
    try {
      const Store store(file, OpenMode::kReadOnly);
      for (const DeviceRecord& record : store.devices()) {
        const DeviceProfile& there = record.profile;
        if (there.vendor_id != device.vendor_id || there.device_id != device.device_id) continue;
        const std::size_t kernels = store.winners(record.id).size();
        if (kernels == 0) continue;
        shipped.push_back({.file = file,
                           .name = there.name,
                           .driver = driver_of(there),
                           .same_driver = there.driver_id == device.driver_id,
                           .kernels = kernels});
      }
    } catch (const Error&) {
      report_left_out(file);
    }
  }
  return shipped;
}

std::string shipped_text(const std::vector<ShippedDevice>& shipped) {
  std::string list;
  for (const ShippedDevice& one : shipped)
    list += fmt::format("{}{} on {} ({}{})", list.empty() ? "" : ", ", one.kernels, one.name,
                        one.driver, one.same_driver ? "" : ": another driver, only for a search");
  return "kernels that were measured elsewhere: " + list;
}

std::vector<ShippedDevice> import_shipped(Store& store, const std::vector<ShippedDevice>& shipped) {
  std::vector<ShippedDevice> imported;
  std::map<fs::path, bool> brought;
  for (const ShippedDevice& one : shipped) {
    const auto [file, first] = brought.emplace(one.file, false);
    try {
      if (first) file->second = brought_anything(store.import_from(one.file));
    } catch (const Error&) {
      report_left_out(one.file);
    }
    if (file->second) imported.push_back(one);
  }
  return imported;
}

}  // namespace rooftile
