// The compiled shaders of row operations on one device.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "runtime/device/device.h"
#include "runtime/resident/expert_operation.h"
#include "runtime/tuned/kernel_cache.h"

namespace rooftile {

/// Thread-safe. Each shader is compiled at its first use, and then compared with the host's result
/// on `checking_device`, so that a shader that hangs or is wrong does no harm. Throws what
/// compilation throws, and kInternal where a result is wrong.
class RowShaders {
 public:
  RowShaders(std::shared_ptr<Device> device, std::shared_ptr<KernelCache> cache,
             std::function<std::shared_ptr<Device>()> checking_device);

  std::shared_ptr<const Pipeline> of(const SoftmaxCall& call);
  std::shared_ptr<const Pipeline> of(const MultiplyCall& call);
  std::shared_ptr<const Pipeline> of(const TopKCall& call);
  std::shared_ptr<const Pipeline> of(const GroupTokensCall& call);
  std::shared_ptr<const Pipeline> of(const GatherCall& call);
  std::shared_ptr<const Pipeline> of(const CombineCall& call);

 private:
  using Compiled = std::shared_ptr<const Pipeline>;
  /// Returns `kept`; where it is null, after the shader was checked and compiled.
  Compiled checked(Compiled& kept, const Shader& shader,
                   const std::function<void(std::shared_ptr<Device>, const ShaderCache&)>& check);

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<KernelCache> cache_;
  const std::function<std::shared_ptr<Device>()> checking_device_;
  std::mutex mutex_;  ///< Guards what follows.
  Compiled softmax_, top_k_, group_tokens_, gather_, combine_;
  std::array<Compiled, static_cast<std::size_t>(Activation::kSilu) + 1> multiply_;
};

}  // namespace rooftile
