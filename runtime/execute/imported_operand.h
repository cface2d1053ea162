// Import of the caller's memory as a device buffer, without copying it.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/device/device.h"

namespace rooftile {

/// Device buffer over the pages (of the device's alignment) that hold an operand. The device owns
/// the memory while this object lives. When the object is destroyed nothing may use the memory any
/// more, even on a device that was given up.
class ImportedOperand {
 public:
  ~ImportedOperand();
  ImportedOperand(ImportedOperand&&) noexcept = default;
  ImportedOperand& operator=(ImportedOperand&&) noexcept = default;

  /// Pages of an operand: the range to import, and how much of it a kernel may access.
  struct Pages {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t reachable_bytes = 0;
  };
  /// No value when a device with these limits does not import such memory.
  static std::optional<Pages> pages(const DeviceLimits& limits, const void* at,
                                    std::uint64_t bytes);

  /// No value when this memory cannot be imported: the driver refuses it (drivers differ in their
  /// support of file mappings and read-only memory), or the device's alignment exceeds the pages
  /// that hold the operand. Throws kDevice.
  static std::optional<ImportedOperand> of(Device& device, const void* at, std::uint64_t bytes);

  /// View from the buffer's start to one whole load behind the operand's end.
  const Buffer& buffer() const { return reachable_; }
  /// Offset of the operand in the buffer.
  std::uint64_t offset_bytes() const { return offset_bytes_; }

  /// Whether the two share a page. A device does not know that two buffers alias the same memory,
  /// and may read one before a write to the other becomes visible.
  bool shares_pages(const ImportedOperand& other) const;

 private:
  ImportedOperand() = default;

  Buffer pages_, reachable_;  ///< The second is a view of the first.
  std::uintptr_t first_page_ = 0;
  std::uint64_t offset_bytes_ = 0;
};

}  // namespace rooftile
