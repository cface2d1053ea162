// Which of a device's memory types backs a buffer. A pure function of values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/device/device.h"

namespace rooftile {

struct MemoryType {
  bool device_local = false;
  bool host_visible = false;
  bool host_coherent = false;
  bool host_cached = false;
  bool special =
      false;  // protected, lazily allocated, or a vendor's device-coherent type: never for us
  std::uint64_t heap_bytes = 0;
};

/// allowed_bits as in VkMemoryRequirements::memoryTypeBits. nullopt: no type can serve this use.
///   kDevice    device-local; on unified memory host-visible as well (cached first), else not
///   host-visible, which leaves the
///              small window of a discrete card to uploads
///   kUpload    host-visible and coherent, preferably not device-local (the window is small) and
///   not cached kDownload  host-visible, preferably cached and coherent, then cached, then
///   coherent: reads of uncached memory run at
///              tens of MB/s
std::optional<std::uint32_t> choose_memory_type(std::span<const MemoryType> types,
                                                std::uint32_t allowed_bits, BufferUse use,
                                                bool unified_memory);

}  // namespace rooftile
