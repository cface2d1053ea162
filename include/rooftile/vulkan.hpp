// C++ wrapper of vulkan.h. It adds only ownership and exceptions.
#pragma once

#include <rooftile/vulkan.h>

#include <rooftile/rooftile.hpp>

namespace rooftile {

/// Owner of the rooftile_vulkan_requirements of a device. Throws StatusError.
class VulkanRequirements {
 public:
  explicit VulkanRequirements(rooftile_vulkan_device device) {
    device.struct_size = sizeof device;
    requirements_.struct_size = sizeof requirements_;
    detail::check(rooftile_vulkan_requirements_get(&device, &requirements_));
  }
  ~VulkanRequirements() { rooftile_vulkan_requirements_free(&requirements_); }
  VulkanRequirements(const VulkanRequirements&) = delete;
  VulkanRequirements& operator=(const VulkanRequirements&) = delete;
  const rooftile_vulkan_requirements* operator->() const noexcept { return &requirements_; }

 private:
  rooftile_vulkan_requirements requirements_ = {};
};

/// Calls rooftile_vulkan_open; struct_size is filled in. Throws StatusError.
inline Session open_vulkan(rooftile_vulkan_device device, rooftile_options options = {}) {
  device.struct_size = sizeof device;
  options.struct_size = sizeof options;
  rooftile_context* context = nullptr;
  detail::check(rooftile_vulkan_open(&options, &device, &context));
  return Session(context);
}

/// Calls rooftile_vulkan_prepare; struct_size is filled in, and batch 0 becomes 1. Throws
/// StatusError.
inline rooftile_prepared prepare(const Session& session, const rooftile_gemm_args& args,
                                 rooftile_vulkan_operands operands) {
  const rooftile_gemm_args problem = detail::completed(args);
  operands.struct_size = sizeof operands;
  rooftile_prepared prepared = {};
  prepared.struct_size = sizeof prepared;
  detail::check(rooftile_vulkan_prepare(session.get(), &problem, &operands, &prepared));
  return prepared;
}

/// Owner of what recorded commands use. It must be destroyed only when the commands are no longer
/// used.
class Recording {
 public:
  Recording() = default;
  /// Calls rooftile_vulkan_record. Throws StatusError.
  Recording(const Session& session, const rooftile_gemm_args& args,
            rooftile_vulkan_operands operands, VkCommandBuffer commands) {
    const rooftile_gemm_args problem = detail::completed(args);
    operands.struct_size = sizeof operands;
    rooftile_recording* recording = nullptr;
    detail::check(rooftile_vulkan_record(session.get(), &problem, &operands, commands, &recording));
    recording_ = detail::Owned<rooftile_recording, rooftile_recording_release>(recording);
  }

 private:
  detail::Owned<rooftile_recording, rooftile_recording_release> recording_;
};

}  // namespace rooftile
