#include "runtime/tuned/shipped_devices.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <system_error>

#include "core/device_text.h"
#include "core/error.h"
#include "core/files/folder.h"
#include "core/text_table.h"
#include "db/store.h"
#include "runtime/support/log.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {

namespace fs = std::filesystem;

void warn_left_out(const fs::path& shipped_file) {
  const std::string file = shipped_file.string();
  log_warning_once(file, fmt::format("{} should hold the data of a measured device, which came "
                                     "with Rooftile, and cannot be used; install Rooftile again, "
                                     "or remove the file",
                                     file));
}

fs::path shipped_folder() {
  Dl_info own;
  link_map* map = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(&shipped_folder), &own, reinterpret_cast<void**>(&map),
                RTLD_DL_LINKMAP) == 0)
    return {};
  const fs::path file = map->l_name[0] == '\0' ? "/proc/self/exe" : map->l_name;
  if (!file.is_absolute()) return {};  // The working folder may have changed since it was loaded.
  std::error_code unknown;
  const fs::path folder = fs::canonical(file, unknown).parent_path();
  const auto beside = [](const fs::path& prefix) { return prefix / "share/rooftile/devices"; };
  if (fs::exists(folder / "CMakeCache.txt", unknown)) return beside(folder);  // the build tree
  const fs::path above = folder.parent_path();
  for (const char* installed : {"bin", "lib", "lib64", "libexec"})
    if (folder.filename() == installed) return beside(above);
  // Debian's libraries lie in lib/x86_64-linux-gnu.
  return above.filename() == "lib" ? beside(above.parent_path()) : fs::path();
}

namespace {

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const std::string& name : names_in(folder))
    if (fs::path(name).extension() == ".db") files.push_back(folder / name);
  return files;
}

}  // namespace

std::vector<DeviceProfile> shipped_profiles(const fs::path& folder) {
  std::vector<DeviceProfile> profiles;
  for (const fs::path& file : files_of(folder)) {
    try {
      const Store store(file, {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kShippedPatienceMs});
      for (DeviceRecord& record : store.devices()) profiles.push_back(std::move(record.profile));
    } catch (const Error&) {
      warn_left_out(file);
    }
  }
  return profiles;
}

std::vector<ShippedDevice> shipped_devices(const fs::path& folder, const DeviceProfile& device) {
  std::vector<ShippedDevice> shipped;
  for (const fs::path& file : files_of(folder)) {
    try {
      const auto is_of_product = [&](const DeviceRecord& record) {
        return same_product(record.profile, device);
      };
      StoreOptions options = {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kShippedPatienceMs};
      if (std::ranges::none_of(Store(file, options).devices(), is_of_product)) continue;
      options.foreign = true;  // The checks of an import, which take longer.
      const Store store(file, options);
      for (const DeviceRecord& record : store.devices()) {
        if (!is_of_product(record)) continue;
        const auto kernels = std::ranges::count_if(
            store.winners(record.id),
            [](const RankedKernel& kernel) { return !kernel.black_list_reason; });
        if (kernels == 0) continue;
        const DeviceProfile& there = record.profile;
        shipped.push_back({.file = file,
                           .row = record.id,
                           .name = cleaned_text(there.name),
                           .driver = cleaned_text(driver_of(there)),
                           .same_driver = there.driver_id == device.driver_id,
                           .kernels = static_cast<std::size_t>(kernels)});
      }
    } catch (const Error&) {
      warn_left_out(file);
    }
  }
  return shipped;
}

}  // namespace rooftile
