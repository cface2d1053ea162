// Reads a physical device's properties into values. Private to runtime/device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/device/physical/device_order.h"
#include "runtime/device/physical/memory_type.h"
#include "runtime/device/physical/vulkan.h"

namespace rooftile {

/// Uses of every buffer that Rooftile makes.
inline constexpr vk::BufferUsageFlags kBufferUsage =
    vk::BufferUsageFlagBits::eStorageBuffer | vk::BufferUsageFlagBits::eUniformTexelBuffer |
    vk::BufferUsageFlagBits::eTransferSrc | vk::BufferUsageFlagBits::eTransferDst;

/// Properties that opening a device needs besides its profile.
struct PhysicalDetails {
  OfferedDevice offer;
  std::uint32_t queue_family = 0;
  std::vector<MemoryType> memory_types;
  bool full_subgroups = false;  ///< The driver can guarantee that every subgroup is full.
  std::uint32_t max_storage_bindings = 0, max_texel_bindings = 0;
  std::uint64_t non_coherent_atom_bytes = 1;
};

/// Returns nullopt for a device older than Vulkan 1.1 or without a compute queue.
std::optional<PhysicalDetails> read_details(const vk::raii::PhysicalDevice& physical,
                                            vk::Instance instance);

}  // namespace rooftile
