// Copies of host matrices to and from device buffers, and a buffer pool so that calls allocate
// nothing once the pool is warm.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/problem.h"
#include "runtime/device/device.h"

namespace rooftile {

/// Size of the largest buffer that a device can allocate and a kernel can bind as a whole.
std::uint64_t largest_buffer_bytes(const DeviceLimits& limits);
/// Size of the buffer that a pool hands out for a request of `bytes`.
std::uint64_t pooled_bytes(std::uint64_t bytes, const DeviceLimits& limits);

/// Reuses buffers of the same use and size class (powers of two), so that calls of one size share
/// buffers. The pool holds, lent or free, at most twice the largest amount that was ever lent at
/// once: all smaller classes together are not larger than the largest, so that calls of many sizes
/// find their buffers again. Thread-safe.
class BufferPool {
 public:
  explicit BufferPool(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// Returns a buffer of at least `bytes`, which the caller returns with release(). Where memory is
  /// short, the pool frees its own unused buffers first.
  Buffer acquire(std::uint64_t bytes, BufferUse use);
  void release(Buffer buffer, BufferUse use);
  /// Frees all unused buffers, before an out-of-memory error is reported.
  void trim();

  /// These functions take no lock, because a process may fork while one is held.
  std::uint64_t bytes() const { return lent_bytes_ + free_bytes_; }  ///< Lent and free bytes.
  std::uint64_t most_bytes() const { return most_bytes_; }           ///< Most bytes lent at once.

 private:
  struct Free {
    Buffer buffer;
    BufferUse use;
  };
  void keep_within(std::uint64_t bytes);  ///< The caller holds mutex_.

  std::shared_ptr<Device> device_;
  std::mutex mutex_;        ///< Guards changes of all members below.
  std::vector<Free> free_;  ///< Least recently used first.
  std::atomic<std::uint64_t> free_bytes_ = 0, lent_bytes_ = 0, most_bytes_ = 0;
};

/// A pooled buffer that returns itself to the pool.
class PooledBuffer {
 public:
  PooledBuffer(BufferPool& pool, std::uint64_t bytes, BufferUse use)
      : pool_(&pool), use_(use), buffer_(pool.acquire(bytes, use)) {}
  ~PooledBuffer() { pool_->release(std::move(buffer_), use_); }
  PooledBuffer(const PooledBuffer&) = delete;
  PooledBuffer& operator=(const PooledBuffer&) = delete;

  const Buffer& operator*() const { return buffer_; }
  const Buffer* operator->() const { return &buffer_; }

 private:
  BufferPool* pool_;
  BufferUse use_;
  Buffer buffer_;
};

/// Leading dimension of a staged copy: rows are padded to whole vectors of 4 elements (16 for 8-bit
/// types, which kernels read in words), so that vector kernels are legal for every width.
std::int64_t staged_ld(std::int64_t columns, DataType type = DataType::kF32);
/// Same problem over staged copies of its operands.
Problem staged_problem(const Problem& p);
/// The same as a kernel gets it: k is 0 where alpha is, because A and B must not be read then.
Problem kernel_problem(const Problem& p);
/// Bytes of the staged matrices of a batch, the last rows' padding included; at least 16 each. p is
/// the result of staged_problem().
struct StagedBytes {
  std::uint64_t a, b, c;
  std::uint64_t scales, zero_points;  ///< Of a quantised B; 0: there are none.
};
StagedBytes staged_bytes(const Problem& p);

/// Copies a matrix. Elements between the rows are neither read nor written, because they may belong
/// to another matrix of the caller.
void copy_matrix(Extent extent, DataType type, const void* source, std::int64_t source_ld,
                 void* target, std::int64_t target_ld);

}  // namespace rooftile
