// Copies of a call's operands from host memory to device memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/call/call.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/calibration.h"

namespace rooftile {

/// What all calls on one device share.
struct DeviceLink {
  std::shared_ptr<Device> device;
  const DeviceProfile& profile;  ///< The device as it was when it was tuned.
  const DeviceRates& rates;
  BufferPool& pool;
  std::atomic<std::uint64_t>& imports;  ///< Counts operands whose memory was imported.
};

/// Device memory for one operand: one buffer on unified memory; otherwise the host fills it through
/// a mapped buffer, if the host fills it at all.
class DeviceInput {
 public:
  enum class Filled : std::uint8_t { kByHost, kByDevice };
  DeviceInput(const DeviceLink& link, std::uint64_t bytes, Filled filled = Filled::kByHost)
      : bytes_(bytes), device_(link.pool, bytes_, BufferUse::kDevice) {
    if (!link.profile.unified_memory && filled == Filled::kByHost)
      upload_ = std::make_unique<PooledBuffer>(link.pool, bytes_, BufferUse::kUpload);
  }
  void* host() const { return upload_ ? (*upload_)->mapped() : device_->mapped(); }
  const Buffer* device() const { return &*device_; }
  void append_copy(std::vector<Step>& steps) const {
    if (upload_) steps.emplace_back(CopyStep{{&**upload_, 0, bytes_}, {device(), 0, bytes_}});
  }

 private:
  std::uint64_t bytes_;
  PooledBuffer device_;
  std::unique_ptr<PooledBuffer> upload_;
};

/// Vectors and residual of the epilogue, laid out as own_buffers() describes.
class StagedEpilogue {
 public:
  StagedEpilogue(const DeviceLink& link, const GemmCall& call, const Placement& at);
  const Buffer* vectors() const { return vectors_ ? vectors_->device() : nullptr; }
  const Buffer* residual() const { return residual_ ? residual_->device() : nullptr; }
  void append_copies(std::vector<Step>& steps) const {
    if (vectors_) vectors_->append_copy(steps);
    if (residual_) residual_->append_copy(steps);
  }

 private:
  std::unique_ptr<DeviceInput> vectors_, residual_;
};

/// Copies the values of a quantised B to its buffer, and scales and zero points to theirs.
class StagedQuantization {
 public:
  /// `staged` has k == 0 when B must not be read.
  StagedQuantization(const DeviceLink& link, const GemmCall& call, const Problem& staged,
                     const DeviceInput* b);
  const Buffer* scales() const { return scales_ ? scales_->device() : nullptr; }
  const Buffer* zero_points() const { return zero_points_ ? zero_points_->device() : nullptr; }
  void append_copies(std::vector<Step>& steps) const {
    if (scales_) scales_->append_copy(steps);
    if (zero_points_) zero_points_->append_copy(steps);
  }

 private:
  std::unique_ptr<DeviceInput> scales_, zero_points_;
};

}  // namespace rooftile
