// One CUDA device, its memory and its events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/baselines/cuda_api.h"

namespace rooftile::cuda {

/// The primary context of a device, current in the creating thread, and a stream in it.
class Gpu {
 public:
  /// Opens the device with this UUID (32 hex digits), or the first device. Throws kUnsupported
  /// when there is no device.
  explicit Gpu(const std::string& wanted_uuid);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Throws kOutOfMemory or kDevice unless the function succeeded.
  void check(Status status, const char* function) const;

  const Driver driver;
  Stream stream = nullptr;
  // Name with the driver's version, and a remark if it is not the requested device.
  std::string name;

 private:
  std::string uuid() const;
  std::string describe(bool wanted) const;

  Device device_ = 0;
  Context context_ = nullptr;
};

class DeviceMemory {
 public:
  DeviceMemory(const Gpu& gpu, std::int64_t bytes);
  ~DeviceMemory() { gpu_.driver.memory_free(address); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Copies the whole buffer.
  void upload(const void* source) const;
  void fill(unsigned char byte) const;
  std::vector<char> download() const;

  Memory address = 0;

 private:
  const Gpu& gpu_;
  std::size_t bytes_;
};

class TimedEvent {
 public:
  explicit TimedEvent(const Gpu& gpu) : gpu_(gpu) {
    gpu_.check(gpu_.driver.event_create(&event, 0), "cuEventCreate");
  }
  ~TimedEvent() { gpu_.driver.event_destroy(event); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;

  Event event = nullptr;

 private:
  const Gpu& gpu_;
};

}  // namespace rooftile::cuda
