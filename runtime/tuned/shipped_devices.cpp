#include "runtime/tuned/shipped_devices.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <system_error>

#include "core/device_text.h"
#include "core/error.h"
#include "db/store.h"
#include "runtime/support/log.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {

namespace fs = std::filesystem;

void warn_left_out(const fs::path& shipped_file) {
  const std::string file = shipped_file.string();
  log_warning_once(file, fmt::format("{} should hold the data of a measured device, which came "
                                     "with Rooftile; it is left out: `rooftile --db {} db check` "
                                     "says why",
                                     file, file));
}

fs::path shipped_folder() {
  static constexpr const char* kInside = "share/rooftile/devices";
  Dl_info own;
  link_map* map = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(&shipped_folder), &own, reinterpret_cast<void**>(&map),
                RTLD_DL_LINKMAP) == 0)
    return {};
  std::error_code unknown;
  const bool is_program = map->l_name[0] == '\0';
  const fs::path file = fs::canonical(is_program ? "/proc/self/exe" : map->l_name, unknown);
  if (unknown) return {};
  const fs::path folder = file.parent_path();
  if (fs::is_directory(folder / kInside, unknown)) return folder / kInside;  // the build tree
  const fs::path above = folder.parent_path();
  // Debian's libraries lie in lib/x86_64-linux-gnu.
  return (above.filename() == "lib" ? above.parent_path() : above) / kInside;
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
        if (!same_product(there, device)) continue;
        const std::size_t kernels = store.winners(record.id).size();
        if (kernels == 0) continue;
        shipped.push_back({.file = file,
                           .row = record.id,
                           .name = there.name,
                           .driver = driver_of(there),
                           .same_driver = there.driver_id == device.driver_id,
                           .kernels = kernels});
      }
    } catch (const Error&) {
      warn_left_out(file);
    }
  }
  return shipped;
}

}  // namespace rooftile
