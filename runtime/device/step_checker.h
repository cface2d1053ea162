// Checks of steps before they are recorded, and what recording them needs. Private to
// runtime/device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/device/device_impl.h"
#include "runtime/device/ranges.h"

namespace rooftile {

struct ListNeeds {
  std::uint32_t descriptor_sets = 0, storage_bindings = 0, texel_bindings = 0;
  std::uint32_t timed_steps = 0;  ///< All steps except barriers.
  /// Mapped memory that is not coherent between host and device.
  std::vector<vk::MappedMemoryRange> incoherent;
};

/// A member of Device only for access to buffers and pipelines.
class Device::StepChecker {
 public:
  explicit StepChecker(const Impl& device) : device_(device) {}

  /// Throws the errors of Device::record, with the step's number in the message.
  ListNeeds check_all(std::span<const Step> steps);
  /// Resolved range in the buffer that commands use.
  ByteRange checked_range(const BufferRange& range) const;

 private:
  void check(const BarrierStep&) {}
  void check(const CopyStep& copy);
  void check(const ClearStep& clear);
  void check(const DispatchStep& dispatch);
  void note_host_memory(const BufferRange& range);

  const Impl& device_;
  ListNeeds needs_;
};

}  // namespace rooftile
