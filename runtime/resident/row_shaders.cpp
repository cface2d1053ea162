#include "runtime/resident/row_shaders.h"

#include "generator/emit_rows.h"
#include "runtime/resident/row_check.h"

namespace rooftile {

RowShaders::RowShaders(std::shared_ptr<Device> device, std::shared_ptr<KernelCache> cache,
                       std::function<std::shared_ptr<Device>()> checking_device)
    : device_(std::move(device)),
      cache_(std::move(cache)),
      checking_device_(std::move(checking_device)) {}

std::shared_ptr<const Pipeline> RowShaders::softmax() {
  const std::lock_guard lock(mutex_);
  if (softmax_ == nullptr) {
    check_softmax(checking_device_(), cache_->shaders);
    softmax_ = compiled(*device_, emit_softmax(), cache_->shaders);
  }
  return softmax_;
}

std::shared_ptr<const Pipeline> RowShaders::multiply(Activation activation) {
  const std::lock_guard lock(mutex_);
  auto& multiply = multiply_[activation];
  if (multiply == nullptr) {
    check_multiply(checking_device_(), activation, cache_->shaders);
    multiply = compiled(*device_, emit_multiply(activation), cache_->shaders);
  }
  return multiply;
}

}  // namespace rooftile
