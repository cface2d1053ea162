// Lists that a driver gives by count and then by value. Private to runtime/device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/device/vulkan.h"

namespace rooftile {

/// What call(&count, entries) gives, cut at `most`; nothing when it fails.
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

}  // namespace rooftile
