// One OpenCL device, an in-order queue, its memory and its events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/baselines/baseline.h"
#include "bench/baselines/opencl_api.h"

namespace rooftile::opencl {

class Accelerator {
 public:
  /// Opens the device under test if OpenCL knows its UUID, else the first device of its kind, else
  /// the first device. Throws kUnsupported when there is none.
  explicit Accelerator(const BaselineSetting& setting);
  ~Accelerator();
  Accelerator(const Accelerator&) = delete;
  Accelerator& operator=(const Accelerator&) = delete;

  /// Throws kUnsupported, kOutOfMemory or kDevice unless the function succeeded.
  void check(Status status, const char* function) const;

  const Loader loader;
  std::string name;  // Name with versions, and a remark if it is not the requested device.
  Context context = nullptr;
  Queue queue = nullptr;

 private:
  Device choose(const BaselineSetting& setting);
  std::string text(Device device, std::uint32_t info) const;
  std::string uuid(Device device) const;  // "" if the driver does not report it
};

class DeviceMemory {
 public:
  DeviceMemory(const Accelerator& accelerator, std::int64_t bytes);
  ~DeviceMemory() { accelerator_.loader.release_memory(memory); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Copies the whole buffer.
  void upload(const void* source) const;
  std::vector<char> download() const;

  Memory memory = nullptr;

 private:
  const Accelerator& accelerator_;
  std::size_t bytes_;
};

/// Handle that is released at the end of its scope. It is empty until a function fills it.
class OwnedEvent {
 public:
  explicit OwnedEvent(const Accelerator& accelerator) : accelerator_(accelerator) {}
  ~OwnedEvent() {
    if (event != nullptr) accelerator_.loader.release_event(event);
  }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;

  Event event = nullptr;

 private:
  const Accelerator& accelerator_;
};

}  // namespace rooftile::opencl
