// Reading a physical device into values. Private to runtime/device.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/device/device_order.h"
#include "runtime/device/memory_type.h"
#include "runtime/device/vulkan.h"

namespace rooftile {

/// What opening a device needs beyond its profile.
struct PhysicalDetails {
  OfferedDevice offer;
  std::uint32_t queue_family = 0;
  std::vector<MemoryType> memory_types;
  bool full_subgroups = false;  // the driver can promise that every subgroup is full
  std::uint32_t max_storage_bindings = 0, max_texel_bindings = 0;
  std::uint64_t non_coherent_atom_bytes = 1;
};

bool has_extension(const std::vector<vk::ExtensionProperties>& extensions, std::string_view name);

/// nullopt: older than Vulkan 1.1, or without a compute queue.
std::optional<PhysicalDetails> read_details(const vk::raii::PhysicalDevice& physical,
                                            vk::Instance instance);

}  // namespace rooftile
