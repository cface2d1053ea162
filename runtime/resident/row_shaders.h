// The compiled shaders of row operations on one device.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "core/epilogue.h"
#include "runtime/device/device.h"
#include "runtime/tuned/kernel_cache.h"

namespace rooftile {

/// Thread-safe. Each shader is compiled at its first use, and then compared with float64 on
/// `checking_device`, so that a shader that hangs or is wrong does no harm. Throws what compilation
/// throws, and kInternal where a result is wrong.
class RowShaders {
 public:
  RowShaders(std::shared_ptr<Device> device, std::shared_ptr<KernelCache> cache,
             std::function<std::shared_ptr<Device>()> checking_device);

  std::shared_ptr<const Pipeline> softmax();
  std::shared_ptr<const Pipeline> multiply(Activation activation);

 private:
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<KernelCache> cache_;
  const std::function<std::shared_ptr<Device>()> checking_device_;
  std::mutex mutex_;  ///< Guards what follows.
  std::shared_ptr<const Pipeline> softmax_;
  std::map<Activation, std::shared_ptr<const Pipeline>> multiply_;
};

}  // namespace rooftile
