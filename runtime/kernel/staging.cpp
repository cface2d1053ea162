#include "runtime/kernel/staging.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "core/quantized.h"
#include "runtime/support/copy_bytes.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kSmallestClassBytes = 4096;

// Powers of two waste up to half of the memory but limit the number of classes.
std::uint64_t size_class(std::uint64_t bytes) {
  return std::bit_ceil(std::max(bytes, kSmallestClassBytes));
}

}  // namespace

std::uint64_t largest_buffer_bytes(const DeviceLimits& limits) {
  return std::min(limits.max_storage_buffer_range_bytes, limits.max_memory_allocation_bytes);
}

std::uint64_t pooled_bytes(std::uint64_t bytes, const DeviceLimits& limits) {
  return std::max(bytes, std::min(size_class(bytes), limits.max_memory_allocation_bytes));
}

Buffer BufferPool::acquire(std::uint64_t bytes, BufferUse use) {
  const std::uint64_t wanted = pooled_bytes(bytes, device_->profile().limits);
  const std::lock_guard lock(mutex_);
  // The buffer that was used last is the most likely to be in a cache.
  const auto found = std::find_if(free_.rbegin(), free_.rend(), [&](const Free& free) {
    return free.use == use && free.buffer.size_bytes() == wanted;
  });
  Buffer buffer;
  if (found != free_.rend()) {
    buffer = std::move(found->buffer);
    free_.erase(std::next(found).base());
    free_bytes_ -= wanted;
  } else {
    keep_within(2 * std::max<std::uint64_t>(most_bytes_, lent_bytes_ + wanted) - wanted);
    try {
      buffer = device_->create_buffer(wanted, use);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOutOfMemory || free_.empty()) throw;
      keep_within(0);
      buffer = device_->create_buffer(wanted, use);
    }
  }
  lent_bytes_ += wanted;
  most_bytes_ = std::max<std::uint64_t>(most_bytes_, lent_bytes_);
  return buffer;
}

void BufferPool::release(Buffer buffer, BufferUse use) {
  const std::lock_guard lock(mutex_);
  lent_bytes_ -= buffer.size_bytes();
  free_bytes_ += buffer.size_bytes();
  free_.push_back({std::move(buffer), use});
}

void BufferPool::trim() {
  const std::lock_guard lock(mutex_);
  keep_within(0);
}

void BufferPool::keep_within(std::uint64_t bytes) {
  auto first_kept = free_.begin();
  for (; first_kept != free_.end() && lent_bytes_ + free_bytes_ > bytes; ++first_kept)
    free_bytes_ -= first_kept->buffer.size_bytes();
  free_.erase(free_.begin(), first_kept);
}

StagedBytes staged_bytes(const Problem& p) {
  const auto elements = [&](Extent extent, std::int64_t stride, std::int64_t ld) {
    const std::int64_t of_call = is_grouped(p) ? p.grouping.experts : p.batch;
    const std::int64_t matrices = stride == 0 ? 1 : std::max<std::int64_t>(of_call, 1);
    return std::max<std::int64_t>(extent.rows, 1) * matrices * ld;
  };
  // Rounds up to whole vec4s, at least one, because a kernel of packed operands may bind the buffer
  // even when nothing is packed.
  const auto at_least = [](std::int64_t x) {
    return std::max<std::uint64_t>((static_cast<std::uint64_t>(x) + 15) / 16 * 16, 16);
  };
  const std::int64_t ld_a = staged_ld(stored_a(p).columns, p.types.a),
                     ld_b = quantized(p.types) ? p.ldb : staged_ld(stored_b(p).columns, p.types.a);
  StagedBytes bytes = {
      at_least(elements(stored_a(p), p.stride_a, ld_a) * bytes_of(p.types.a)),
      at_least(bytes_of_b(p.types, elements(stored_b(p), p.stride_b, ld_b))),
      at_least(elements({p.m, p.n}, p.stride_c, staged_ld(p.n)) * bytes_of(p.types.c)), 0, 0};
  if (has_separate_scales(p.types)) {
    const QuantizedBytes parts = quantized_bytes(p);
    bytes.scales = at_least(parts.scales);
    if (parts.zero_points > 0) bytes.zero_points = at_least(parts.zero_points);
  }
  return bytes;
}

void copy_matrix(Extent extent, DataType type, const void* source, std::int64_t source_ld,
                 void* target, std::int64_t target_ld) {
  if (extent.rows == 0 || extent.columns == 0) return;
  const std::int64_t bytes = bytes_of(type);
  if (source_ld == extent.columns && target_ld == extent.columns)
    return copy_bytes(source, target, static_cast<std::uint64_t>(extent.rows * source_ld * bytes));
  const auto* from = static_cast<const char*>(source);
  auto* to = static_cast<char*>(target);
  const std::int64_t row_bytes = extent.columns * bytes;
  share_copies(extent.rows, row_bytes, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      std::memcpy(to + r * target_ld * bytes, from + r * source_ld * bytes,
                  static_cast<std::size_t>(row_bytes));
  });
}

}  // namespace rooftile
