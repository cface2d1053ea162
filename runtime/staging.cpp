#include "runtime/staging.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rooftile {
namespace {

constexpr std::int64_t kVectorElements = 4;  // vec4 of float: the widest load
constexpr std::uint64_t kSmallestClassBytes = 4096;

// Powers of two waste up to half of the memory but bound the number of classes.
std::uint64_t size_class(std::uint64_t bytes) {
  return std::bit_ceil(std::max(bytes, kSmallestClassBytes));
}

}  // namespace

Buffer BufferPool::acquire(std::uint64_t bytes, BufferUse use) {
  const std::uint64_t limit = device_->profile().limits.max_memory_allocation_bytes;
  const std::uint64_t wanted = std::max(bytes, std::min(size_class(bytes), limit));
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->use == use && it->buffer.size_bytes() == wanted) {
      Buffer buffer = std::move(it->buffer);
      free_.erase(it);
      return buffer;
    }
  }
  return device_->create_buffer(wanted, use);
}

void BufferPool::release(Buffer buffer, BufferUse use) {
  free_.push_back({std::move(buffer), use});
}

std::int64_t staged_ld(std::int64_t columns) {
  return std::max<std::int64_t>((columns + kVectorElements - 1) / kVectorElements * kVectorElements,
                                kVectorElements);
}

Problem staged_problem(const Problem& p) {
  Problem staged = p;
  staged.lda = staged_ld(stored_a(p).columns);
  staged.ldb = staged_ld(stored_b(p).columns);
  staged.ldc = staged_ld(p.n);
  if (p.batch > 1) {
    // A matrix that all products share is staged once.
    if (p.stride_a != 0) staged.stride_a = stored_a(p).rows * staged.lda;
    if (p.stride_b != 0) staged.stride_b = stored_b(p).rows * staged.ldb;
    staged.stride_c = p.m * staged.ldc;
  }
  return staged;
}

StagedBytes staged_bytes(const Problem& p) {
  const auto bytes = [&](Extent extent, std::int64_t stride) {
    const std::int64_t matrices = stride == 0 ? 1 : std::max<std::int64_t>(p.batch, 1);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(extent.rows, 1) * matrices *
                                      staged_ld(extent.columns)) *
           sizeof(float);
  };
  return {bytes(stored_a(p), p.stride_a), bytes(stored_b(p), p.stride_b),
          bytes({p.m, p.n}, p.stride_c)};
}

void copy_matrix(Extent extent, const float* source, std::int64_t source_ld, float* target,
                 std::int64_t target_ld) {
  if (extent.rows == 0 || extent.columns == 0) return;
  if (source_ld == target_ld) {
    std::memcpy(target, source,
                static_cast<std::size_t>(span_elements(extent, source_ld)) * sizeof(float));
    return;
  }
  for (std::int64_t r = 0; r < extent.rows; ++r)
    std::memcpy(target + r * target_ld, source + r * source_ld,
                static_cast<std::size_t>(extent.columns) * sizeof(float));
}

}  // namespace rooftile
