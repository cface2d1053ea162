// Checks and sizes of buffer ranges for binding and copying. Pure functions of values.
#pragma once

#include <cstdint>

#include "core/device_profile.h"
#include "core/shader_interface.h"

namespace rooftile {

struct ByteRange {
  std::uint64_t offset_bytes = 0, size_bytes = 0;
};

/// Resolves size_bytes 0, which means "to the end". Throws kInvalidArgument when the range is empty
/// or exceeds the buffer.
ByteRange resolve_range(ByteRange requested, std::uint64_t buffer_bytes);

/// Throws kInvalidArgument for an offset or size that the binding's alignment forbids, kUnsupported
/// for a range above the device's limit or a texel format that it lacks.
void check_binding(BindingKind kind, ByteRange range, const DeviceLimits& limits);

// lavapipe's code for a texel buffer depends on whether the size of the VkBuffer is a power of two,
// and on whether bits 8 to 15 of the view's size are all zero, which it takes for a number of
// mipmap levels (lp_sampler_static_texture_state of Mesa 22.3). A kernel that is used with other
// sizes is compiled anew. With these sizes it is compiled once: the certificate of a broadcast
// kernel of 32 x 16 sums took 12.5 s of processor time with empty caches, and takes 5.4 s.

/// Those bits of a view's size.
inline constexpr std::uint64_t kViewLevelBits = 0xff00;

/// Size of the VkBuffer for a buffer of so many bytes, with room for texel_view_bytes().
std::uint64_t driver_buffer_bytes(std::uint64_t bytes);

/// Size of a texel view that has to show `bytes` bytes: these, or some more if `room`, the bytes
/// that the VkBuffer has from the view's begin on, and `most` allow that.
std::uint64_t texel_view_bytes(std::uint64_t bytes, std::uint64_t room, std::uint64_t most);

}  // namespace rooftile
