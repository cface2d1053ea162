// Shaders that measure a device instead of multiplying: bandwidth, multiply-add rate, shared memory.
#pragma once

#include <cstdint>

#include "core/variant.h"
#include "generator/emit.h"

namespace rooftile {

struct StreamPushConstants {
  std::uint32_t elements;  // vec4
  float scale;
};
/// c = a + scale * b over vec4. Bindings: 0 a, 1 b (storage or RGBA32 texel buffers), 2 c. Any number of workgroups.
Shader emit_stream(LoadPath load_path, int local_size);

struct FmaPushConstants {
  std::uint32_t trips;
  float multiplier, addend;
};
/// 8 * chains flops an invocation and trip. Binding 0: one float an invocation.
Shader emit_fma(int local_size, int chains);

struct SharedPushConstants {
  std::uint32_t trips;
};
inline constexpr int kSharedUnroll = 8;
/// 16 * kSharedUnroll bytes an invocation and trip. Binding 0: one float an invocation.
Shader emit_shared(int local_size);

}  // namespace rooftile
