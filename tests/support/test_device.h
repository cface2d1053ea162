// Shared by the tests of the device layer: one open device for each process, checked by the
// validation layer, and helper functions.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "compile_shader.h"
#include "runtime/device/device.h"
#include "tests/support/refusal.h"

namespace rooftile {

inline constexpr double kSecond_ns = 1e9;
inline constexpr double kPatience_ns =
    60 * kSecond_ns;  // Lavapipe compiles at the first run, and machines are busy.

/// Returns the first device of enumerate_devices(), and fails the test if there is none.
const DeviceProfile& first_profile();
/// Returns the device, which is opened once for each process and closed before the validation
/// layer's messages are counted.
Device& test_device();

template <typename T>
std::span<T> view(const Buffer& buffer) {
  return {static_cast<T*>(buffer.mapped()), buffer.size_bytes() / sizeof(T)};
}

template <typename T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// Kernel for y[i] = x[i] * factor + i with i < n, in workgroups of 16.
struct Affine {
  static constexpr std::uint32_t kWorkgroup = 16;
  struct PushConstants {
    std::uint32_t n;
    float factor;
  };
  Pipeline pipeline;

  explicit Affine(Device& device);
  DispatchStep step(const BufferRange& x, const BufferRange& y, PushConstants constants) const;
};

}  // namespace rooftile
