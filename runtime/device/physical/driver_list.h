// Lists that a driver returns in two calls, first the count and then the values, and lists of
// extensions. Private to runtime/device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/device/physical/vulkan.h"

namespace rooftile {

/// Returns the entries of call(&count, entries), at most `most`; empty when the call fails.
template <typename Entry, typename Call>
std::vector<Entry> driver_list(Call call, std::uint32_t most, VkStructureType type) {
  std::uint32_t count = 0;
  if (call(&count, nullptr) != VK_SUCCESS) return {};
  count = std::min(count, most);
  Entry empty = {};
  empty.sType = type;
  std::vector<Entry> entries(count, empty);
  const VkResult result = call(&count, entries.data());
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) return {};
  entries.resize(std::min<std::size_t>(count, entries.size()));
  return entries;
}

inline bool has_extension(const std::vector<vk::ExtensionProperties>& extensions,
                          std::string_view name) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const auto& extension) { return name == extension.extensionName.data(); });
}

}  // namespace rooftile
