// Checks of buffer ranges for binding and copying. Pure functions of values.
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

}  // namespace rooftile
