// Host matrices in and out of device buffers, and a pool so that a call allocates nothing once
// warm.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/problem.h"
#include "runtime/device/device.h"

namespace rooftile {

/// Of the buffer that a pool hands out for so many.
std::uint64_t pooled_bytes(std::uint64_t bytes, const DeviceLimits& limits);

/// Reuses buffers of the same use and size class (powers of two): calls of one size take turns on
/// the same ones. What it holds, lent out or not, stays within twice the most that was ever lent
/// out at once: all smaller classes together are not larger than the largest, so that calls of
/// many sizes find theirs again. Thread-safe.
class BufferPool {
 public:
  explicit BufferPool(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// A buffer of at least this many bytes; give it back with release. Where memory is short the
  /// pool's own goes first.
  Buffer acquire(std::uint64_t bytes, BufferUse use);
  void release(Buffer buffer, BufferUse use);
  /// Frees what is not in use: before giving up on an out-of-memory.
  void trim();

  // Without a lock, which a process may be forked with.
  std::uint64_t bytes() const { return lent_bytes_ + free_bytes_; }  // that it holds
  std::uint64_t most_bytes() const { return most_bytes_; }           // lent out at once

 private:
  struct Free {
    Buffer buffer;
    BufferUse use;
  };
  void keep_within(std::uint64_t bytes);  // mutex_ is held

  std::shared_ptr<Device> device_;
  std::mutex mutex_;        // held to change anything below
  std::vector<Free> free_;  // the longest unused first
  std::atomic<std::uint64_t> free_bytes_ = 0, lent_bytes_ = 0, most_bytes_ = 0;
};

/// A pooled buffer that returns itself.
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

/// ld of a staged copy: rows padded to whole vectors of four elements (16 of 8 bits, which kernels
/// read by words), so that vector kernels are legal for every width.
std::int64_t staged_ld(std::int64_t columns, DataType type = DataType::kF32);
/// The same product over staged copies of its operands.
Problem staged_problem(const Problem& p);
/// Bytes of the staged matrices of a batch, the last rows' padding included; at least 16 each. p:
/// of staged_problem().
struct StagedBytes {
  std::uint64_t a, b, c;
  std::uint64_t scales, zero_points;  // of a quantised B; 0: there are none
};
StagedBytes staged_bytes(const Problem& p);

/// What lies between the rows is neither read nor written: it may be another matrix of the
/// caller's.
void copy_matrix(Extent extent, DataType type, const void* source, std::int64_t source_ld,
                 void* target, std::int64_t target_ld);

}  // namespace rooftile
