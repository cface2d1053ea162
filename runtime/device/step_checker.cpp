#include "runtime/device/step_checker.h"

#include <algorithm>
#include <variant>

namespace rooftile {

ListNeeds Device::StepChecker::check_all(std::span<const Step> steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    try {
      std::visit([this](const auto& step) { check(step); }, steps[i]);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("step {}: {}", i, error.what()));
    }
    needs_.timed_steps += std::holds_alternative<BarrierStep>(steps[i]) ? 0 : 1;
  }
  return std::move(needs_);
}

ByteRange Device::StepChecker::checked_range(const BufferRange& range) const {
  if (range.buffer == nullptr || range.buffer->impl_ == nullptr) {
    fail(ErrorCode::kInvalidArgument, "a range names no buffer");
  }
  if (range.buffer->impl_->device.get() != &device_) {
    fail(ErrorCode::kInvalidArgument, "a range names a buffer of another device");
  }
  ByteRange resolved =
      resolve_range({.offset_bytes = range.offset_bytes, .size_bytes = range.size_bytes},
                    range.buffer->size_bytes());
  resolved.offset_bytes += range.buffer->impl_->first_byte;
  return resolved;
}

void Device::StepChecker::check(const CopyStep& copy) {
  const ByteRange source = checked_range(copy.source), target = checked_range(copy.target);
  if (source.size_bytes != target.size_bytes) {
    fail(ErrorCode::kInvalidArgument, "a copy of {} bytes to {} bytes", source.size_bytes,
         target.size_bytes);
  }
  const bool overlap = source.offset_bytes < target.offset_bytes + target.size_bytes &&
                       target.offset_bytes < source.offset_bytes + source.size_bytes;
  if (copy.source.buffer->impl_->named == copy.target.buffer->impl_->named && overlap) {
    fail(ErrorCode::kInvalidArgument, "a copy within one buffer overlaps itself");
  }
  note_host_memory(copy.source);
  note_host_memory(copy.target);
}

void Device::StepChecker::check(const ClearStep& clear) {
  const ByteRange target = checked_range(clear.target);
  if (target.offset_bytes % 4 != 0 || target.size_bytes % 4 != 0) {
    fail(ErrorCode::kInvalidArgument, "clearing {} bytes at {}: whole words are cleared",
         target.size_bytes, target.offset_bytes);
  }
  note_host_memory(clear.target);
}

void Device::StepChecker::check(const DispatchStep& dispatch) {
  if (dispatch.pipeline == nullptr || dispatch.pipeline->impl_ == nullptr) {
    fail(ErrorCode::kInvalidArgument, "a dispatch names no pipeline");
  }
  const Pipeline::Impl& pipeline = *dispatch.pipeline->impl_;
  if (pipeline.device.get() != &device_) {
    fail(ErrorCode::kInvalidArgument, "a dispatch names a pipeline of another device");
  }
  const ShaderInterface& interface = pipeline.interface;
  if (dispatch.bindings.size() != interface.bindings.size()) {
    fail(ErrorCode::kInvalidArgument, "{} bindings given, the shader has {}",
         dispatch.bindings.size(), interface.bindings.size());
  }
  if (dispatch.push_constants.size() != interface.push_constants_bytes) {
    fail(ErrorCode::kInvalidArgument, "{} bytes of push constants given, the shader takes {}",
         dispatch.push_constants.size(), interface.push_constants_bytes);
  }
  for (std::size_t i = 0; i < dispatch.groups.size(); ++i) {
    if (dispatch.groups[i] > device_.limits().max_workgroup_count[i]) {
      fail(ErrorCode::kUnsupported, "{} workgroups in dimension {} are above this device's {}",
           dispatch.groups[i], i, device_.limits().max_workgroup_count[i]);
    }
  }
  for (std::size_t i = 0; i < dispatch.bindings.size(); ++i) {
    check_binding(interface.bindings[i], checked_range(dispatch.bindings[i]), device_.limits());
    ++(interface.bindings[i] == BindingKind::kStorageBuffer ? needs_.storage_bindings
                                                            : needs_.texel_bindings);
    note_host_memory(dispatch.bindings[i]);
  }
  needs_.descriptor_sets += interface.bindings.empty() ? 0 : 1;
}

void Device::StepChecker::note_host_memory(const BufferRange& range) {
  const Buffer::Impl& buffer = *range.buffer->impl_;
  if (buffer.coherent) return;
  const auto known = [&](const vk::MappedMemoryRange& other) {
    return other.memory == buffer.named_memory;
  };
  if (std::none_of(needs_.incoherent.begin(), needs_.incoherent.end(), known)) {
    needs_.incoherent.emplace_back(buffer.named_memory, 0, VK_WHOLE_SIZE);
  }
}

}  // namespace rooftile
