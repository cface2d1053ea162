#include "runtime/resident/row_shaders.h"

#include <utility>

#include "generator/emit_rows.h"
#include "runtime/resident/expert_check.h"
#include "runtime/resident/row_check.h"

namespace rooftile {

RowShaders::RowShaders(std::shared_ptr<Device> device, std::shared_ptr<KernelCache> cache,
                       std::function<std::shared_ptr<Device>()> checking_device)
    : device_(std::move(device)),
      cache_(std::move(cache)),
      checking_device_(std::move(checking_device)) {}

RowShaders::Compiled RowShaders::checked(
    Compiled& kept, const Shader& shader,
    const std::function<void(std::shared_ptr<Device>, const ShaderCache&)>& check) {
  const std::lock_guard lock(mutex_);
  if (kept == nullptr) {
    check(checking_device_(), cache_->shaders);
    kept = compiled(*device_, shader, cache_->shaders);
  }
  return kept;
}

RowShaders::Compiled RowShaders::of(const SoftmaxCall&) {
  return checked(softmax_, emit_softmax(), check_softmax);
}

RowShaders::Compiled RowShaders::of(const MultiplyCall& call) {
  const Activation activation = call.activation;
  return checked(multiply_.at(static_cast<std::size_t>(activation)), emit_multiply(activation),
                 [&](std::shared_ptr<Device> device, const ShaderCache& cache) {
                   check_multiply(std::move(device), activation, cache);
                 });
}

RowShaders::Compiled RowShaders::of(const TopKCall&) {
  return checked(top_k_, emit_top_k(), check_top_k);
}

RowShaders::Compiled RowShaders::of(const GroupTokensCall&) {
  return checked(group_tokens_, emit_group_tokens(), check_group_tokens);
}

RowShaders::Compiled RowShaders::of(const GatherCall&) {
  return checked(gather_, emit_gather(), check_gather);
}

RowShaders::Compiled RowShaders::of(const CombineCall&) {
  return checked(combine_, emit_combine(), check_combine);
}

}  // namespace rooftile
