#include "runtime/device/ranges.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kMostTexelBytes = 16;
constexpr std::uint64_t kLeastLevelBit = 256;

void check_offset(std::uint64_t offset_bytes, std::uint64_t alignment_bytes) {
  if (offset_bytes % alignment_bytes != 0) {
    fail(ErrorCode::kInvalidArgument,
         "a binding's offset of {} bytes is not a multiple of this device's {} bytes", offset_bytes,
         alignment_bytes);
  }
}

}  // namespace

ByteRange resolve_range(ByteRange requested, std::uint64_t buffer_bytes) {
  const auto [offset, size] = requested;
  if (offset >= buffer_bytes || size > buffer_bytes - offset) {
    fail(ErrorCode::kInvalidArgument, "the range of {} bytes at {} leaves its buffer of {} bytes",
         size, offset, buffer_bytes);
  }
  return {.offset_bytes = offset, .size_bytes = size == 0 ? buffer_bytes - offset : size};
}

void check_binding(BindingKind kind, ByteRange range, const DeviceLimits& limits) {
  if (kind == BindingKind::kStorageBuffer) {
    check_offset(range.offset_bytes, limits.storage_buffer_alignment_bytes);
    if (range.size_bytes > limits.max_storage_buffer_range_bytes) {
      fail(ErrorCode::kUnsupported, "a storage binding of {} bytes is above this device's {} bytes",
           range.size_bytes, limits.max_storage_buffer_range_bytes);
    }
    return;
  }
  const Texel& texel = texel_of(kind);
  if (!(texel.channels == 4 ? limits.texel_buffer_rgba32 : limits.texel_buffer_r32)) {
    fail(ErrorCode::kUnsupported, "this device has no uniform texel buffers of {} channels",
         texel.channels);
  }
  check_offset(range.offset_bytes, limits.texel_buffer_alignment_bytes);
  if (range.size_bytes % texel.bytes != 0) {
    fail(ErrorCode::kInvalidArgument,
         "a texel binding of {} bytes is not a multiple of its {} byte texels", range.size_bytes,
         texel.bytes);
  }
  const std::uint64_t elements = range.size_bytes / texel.bytes;
  if (elements > limits.max_texel_buffer_elements) {
    fail(ErrorCode::kUnsupported,
         "a texel binding of {} texels is above this device's {}; use a storage buffer or slices",
         elements, limits.max_texel_buffer_elements);
  }
}

std::uint64_t driver_buffer_bytes(std::uint64_t bytes) {
  const std::uint64_t roomy = bytes + kLeastLevelBit;
  return std::has_single_bit(roomy) ? roomy + kMostTexelBytes : roomy;
}

std::uint64_t texel_view_bytes(std::uint64_t bytes, std::uint64_t room, std::uint64_t most) {
  const std::uint64_t wanted = (bytes & kViewLevelBits) == 0 ? bytes + kLeastLevelBit : bytes;
  return wanted <= std::min(room, most) ? wanted : bytes;
}

}  // namespace rooftile
