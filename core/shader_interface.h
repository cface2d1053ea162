// What a compute shader expects of its caller. The generator, which writes shaders, and the device
// layer, which runs them, share it without including each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "core/types.h"

namespace rooftile {

enum class BindingKind : std::uint8_t {
  kStorageBuffer,
  // Uniform texel buffers of the formats in kTexels.
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

/// What an element of a binding is.
struct Texel {
  BindingKind kind;
  std::optional<DataType> type;  // Nothing: words that hold several values.
  int channels;                  // 0: a storage buffer.
  std::uint64_t bytes;
  int vk_format;  // The number of VkFormat.
};
/// In the order of BindingKind. Every Vulkan device must support all of these formats (Required
/// Format Support).
inline constexpr Texel kTexels[] = {
    {BindingKind::kStorageBuffer, {}, 0, 0, 0},
    {BindingKind::kTexelR32, DataType::kF32, 1, 4, 100},
    {BindingKind::kTexelRgba32, DataType::kF32, 4, 16, 109},
    {BindingKind::kTexelR16, DataType::kF16, 1, 2, 76},
    {BindingKind::kTexelRgba16, DataType::kF16, 4, 8, 97},
    {BindingKind::kTexelR16Uint, DataType::kBf16, 1, 2, 74},
    {BindingKind::kTexelRgba16Uint, DataType::kBf16, 4, 8, 95},
    {BindingKind::kTexelR8Sint, DataType::kI8, 1, 1, 14},
    {BindingKind::kTexelRgba8Sint, DataType::kI8, 4, 4, 42},
    {BindingKind::kTexelR32Sint, DataType::kI32, 1, 4, 99},
    {BindingKind::kTexelRgba32Sint, DataType::kI32, 4, 16, 108},
    {BindingKind::kTexelR8Uint, DataType::kU8, 1, 1, 13},
    {BindingKind::kTexelRgba8Uint, DataType::kU8, 4, 4, 41},
    {BindingKind::kTexelR32Uint, {}, 1, 4, 98},
    {BindingKind::kTexelRgba32Uint, {}, 4, 16, 107},
};
constexpr const Texel& texel_of(BindingKind kind) {
  return kTexels[static_cast<std::size_t>(kind)];
}
static_assert([] {
  for (const Texel& texel : kTexels)
    if (&texel_of(texel.kind) != &texel) return false;
  return std::size(kTexels) == static_cast<std::size_t>(BindingKind::kTexelRgba32Uint) + 1;
}());

struct ShaderInterface {
  std::vector<BindingKind> bindings;       // descriptor set 0, binding i
  std::uint32_t push_constants_bytes = 0;  // multiple of 4
  // A required size, which is requested from the driver or is its only size; 0: any.
  std::uint32_t subgroup_size = 0;
};

}  // namespace rooftile
