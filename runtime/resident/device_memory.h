// Device memory that asynchronous work uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/types.h"
#include "runtime/resident/resident_run.h"

namespace rooftile {

/// Scales of a quantised B that were found to be right (runtime/resident/resident_scales.h).
struct RightScales {
  Types types;
  std::int64_t n = 0, k = 0;
  std::uint64_t offset_bytes = 0, contents = 0;                          // of the scales
  std::uint64_t zero_points_offset_bytes = 0, zero_points_contents = 0;  // 0: there are none

  bool operator==(const RightScales&) const = default;
};

/// A buffer of the device and the last run that uses it.
struct DeviceMemory {
  /// Consists of whole vectors: any element may be loaded together with its neighbours.
  Buffer buffer;
  std::mutex mutex;
  std::weak_ptr<Run> last_run = {};  // gone: finished long ago
  // Another number after whatever writes the memory; no other memory has had it.
  std::uint64_t contents = next_contents();
  std::vector<RightScales> right_scales = {};  // that lie here, the latest ones

  void written() {
    const std::lock_guard lock(mutex);
    contents = next_contents();
  }

 private:
  static std::uint64_t next_contents() {
    static std::atomic<std::uint64_t> next = 1;
    return next++;
  }
};
using MemoryUses = std::vector<std::shared_ptr<DeviceMemory>>;

}  // namespace rooftile
