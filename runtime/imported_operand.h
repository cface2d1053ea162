// An operand where the caller has it, as a buffer of the device: no byte of it is copied.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/device/device.h"

namespace rooftile {

/// From the start of the page (of the device's alignment) that the operand begins in to its end.
/// The memory is the device's as long as this lives: nothing may run with it any more at its end,
/// when it is the caller's again, also on a device that was given up.
class ImportedOperand {
 public:
  ~ImportedOperand();
  ImportedOperand(ImportedOperand&&) noexcept = default;
  ImportedOperand& operator=(ImportedOperand&&) noexcept = default;

  /// Where an operand lies: what would be imported, and how much of that a kernel may reach.
  struct Pages {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t reachable_bytes = 0;
  };
  /// Nothing when such memory is not imported from a device with these limits.
  static std::optional<Pages> pages(const DeviceLimits& limits, const void* at,
                                    std::uint64_t bytes);

  /// Nothing when this memory cannot be imported: the driver refuses it (drivers differ in what
  /// they take of file mappings and memory that may only be read), or the device's alignment goes
  /// beyond the pages that the operand lies in. Throws kDevice.
  static std::optional<ImportedOperand> of(Device& device, const void* at, std::uint64_t bytes);

  /// From the buffer's start to a whole load behind the operand's end.
  const Buffer& buffer() const { return reachable_; }
  std::uint64_t offset_bytes() const { return offset_bytes_; }  // of the operand in it

  /// Whether they share a page. Two buffers with the same memory are nothing that a device knows
  /// of: it may read one before what it has written to the other arrives.
  bool shares_pages(const ImportedOperand& other) const;

 private:
  ImportedOperand() = default;

  Buffer pages_, reachable_;  // the second is a view of the first
  std::uintptr_t first_page_ = 0;
  std::uint64_t offset_bytes_ = 0;
};

}  // namespace rooftile
