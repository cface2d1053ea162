#include "cli/shipped.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "core/error.h"
#include "db/store.h"

namespace rooftile {

std::string shipped_text(const std::vector<ShippedDevice>& shipped) {
  std::string list;
  for (const ShippedDevice& one : shipped)
    list += fmt::format("{}{} on {} ({}{})", list.empty() ? "" : ", ", one.kernels, one.name,
                        one.driver, one.same_driver ? "" : ": another driver, only for a search");
  return "kernels that were measured elsewhere: " + list;
}

std::vector<ShippedDevice> import_shipped(Store& store, const std::vector<ShippedDevice>& shipped) {
  std::vector<ShippedDevice> imported;
  std::map<std::filesystem::path, bool> brought;
  for (const ShippedDevice& one : shipped) {
    const auto [file, first] = brought.emplace(one.file, false);
    try {
      if (first) file->second = brought_anything(store.import_from(one.file));
    } catch (const Error&) {
      warn_left_out(one.file);
    }
    if (file->second) imported.push_back(one);
  }
  return imported;
}

}  // namespace rooftile
