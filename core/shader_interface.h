// What a compute shader expects of its caller. The generator, which writes shaders, and the device
// layer, which runs them, share it without including each other.
#pragma once

#include <cstdint>
#include <vector>

namespace rooftile {

enum class BindingKind : std::uint8_t {
  kStorageBuffer,
  // Uniform texel buffers: VK_FORMAT_R32_SFLOAT, R32G32B32A32_SFLOAT and so on. Every Vulkan device
  // must support all of these formats (Required Format Support).
  kTexelR32,
  kTexelRgba32,
  kTexelR16,
  kTexelRgba16,
  kTexelR16Uint,
  kTexelRgba16Uint,
  kTexelR8Sint,
  kTexelRgba8Sint,
  kTexelR32Sint,
  kTexelRgba32Sint,
  kTexelR8Uint,
  kTexelRgba8Uint,
  kTexelR32Uint,
  kTexelRgba32Uint,
};
inline bool has_four_channels(BindingKind kind) {
  switch (kind) {
    case BindingKind::kTexelRgba32:
    case BindingKind::kTexelRgba16:
    case BindingKind::kTexelRgba16Uint:
    case BindingKind::kTexelRgba8Sint:
    case BindingKind::kTexelRgba8Uint:
    case BindingKind::kTexelRgba32Sint:
    case BindingKind::kTexelRgba32Uint:
      return true;
    default:
      return false;
  }
}

struct ShaderInterface {
  std::vector<BindingKind> bindings;       // descriptor set 0, binding i
  std::uint32_t push_constants_bytes = 0;  // multiple of 4
  // A required size, which is requested from the driver or is its only size; 0: any.
  std::uint32_t subgroup_size = 0;
};

}  // namespace rooftile
