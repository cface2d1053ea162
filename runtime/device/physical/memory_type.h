// Choice of the memory type for a buffer. A pure function of values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/device/physical/buffer_use.h"

namespace rooftile {

struct MemoryType {
  bool device_local = false;
  bool host_visible = false;
  bool host_coherent = false;
  bool host_cached = false;
  /// Protected, lazily allocated, or a vendor's device-coherent type, none of which is used.
  bool special = false;
  std::uint64_t heap_bytes = 0;
};

/// Returns the index of the memory type for a use, or nullopt when no type can serve it.
/// allowed_bits: VkMemoryRequirements::memoryTypeBits.
///
/// - kDevice: device-local. On unified memory also host-visible, cached if possible; on discrete
///   cards not host-visible, which leaves their small host-visible window to uploads.
/// - kUpload: host-visible and coherent, preferably neither device-local nor cached.
/// - kDownload: host-visible, preferably cached and coherent, then cached, then coherent: reads of
///   uncached memory run at tens of MB/s.
std::optional<std::uint32_t> choose_memory_type(std::span<const MemoryType> types,
                                                std::uint32_t allowed_bits, BufferUse use,
                                                bool unified_memory);

}  // namespace rooftile
