// Memory of a device that asynchronous work uses.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/resident_run.h"

namespace rooftile {

/// A buffer of the device and the last run that uses it.
struct DeviceMemory {
  Buffer buffer;  // whole vectors: any element may be loaded with its neighbours
  std::mutex mutex;
  std::weak_ptr<Run> last_run = {};  // gone: finished long ago
};
using MemoryUses = std::vector<std::shared_ptr<DeviceMemory>>;

}  // namespace rooftile
