#include <algorithm>

#include "runtime/device/device_impl.h"
#include "runtime/device/spirv_summary.h"

namespace rooftile {
namespace {

constexpr std::uint32_t kPushConstantGranuleBytes = 4;  // Granularity of VkPushConstantRange.

void check_interface(const ShaderInterface& interface, const PhysicalDetails& details) {
  const DeviceLimits& limits = details.offer.profile.limits;
  if (interface.push_constants_bytes % kPushConstantGranuleBytes != 0) {
    fail(ErrorCode::kInvalidArgument, "push constants of {} bytes are not a multiple of {}",
         interface.push_constants_bytes, kPushConstantGranuleBytes);
  }
  if (interface.push_constants_bytes > limits.max_push_constants_bytes) {
    fail(ErrorCode::kUnsupported, "push constants of {} bytes are above this device's {}",
         interface.push_constants_bytes, limits.max_push_constants_bytes);
  }
  const auto storage = static_cast<std::size_t>(std::count(
      interface.bindings.begin(), interface.bindings.end(), BindingKind::kStorageBuffer));
  const std::size_t texel = interface.bindings.size() - storage;
  if (storage > details.max_storage_bindings || texel > details.max_texel_bindings) {
    fail(ErrorCode::kUnsupported,
         "{} storage and {} texel bindings are above this device's {} and {}", storage, texel,
         details.max_storage_bindings, details.max_texel_bindings);
  }
}

void check_workgroup(const std::array<std::uint32_t, 3>& size, const DeviceLimits& limits) {
  std::uint64_t invocations = 1;
  bool fits = true;
  for (std::size_t i = 0; i < size.size(); ++i) {
    invocations *= size[i];
    fits = fits && size[i] <= limits.max_workgroup_size[i];
  }
  if (!fits || invocations > limits.max_workgroup_invocations) {
    fail(ErrorCode::kUnsupported,
         "a workgroup of {}x{}x{} is above this device's {}x{}x{} or {} invocations", size[0],
         size[1], size[2], limits.max_workgroup_size[0], limits.max_workgroup_size[1],
         limits.max_workgroup_size[2], limits.max_workgroup_invocations);
  }
}

/// Returns the subgroup size to require from the driver; 0: none.
std::uint32_t required_subgroup_size(std::uint32_t wanted, const PhysicalDetails& details,
                                     const std::array<std::uint32_t, 3>& local_size) {
  const DeviceLimits& limits = details.offer.profile.limits;
  if (wanted == 0) return 0;
  if (!limits.subgroup_size_control) {
    if (wanted == limits.subgroup_size) return 0;
    fail(ErrorCode::kUnsupported, "the shader requires subgroups of {}, this device has only {}",
         wanted, limits.subgroup_size);
  }
  const bool power_of_two = (wanted & (wanted - 1)) == 0;
  if (!power_of_two || wanted < limits.min_subgroup_size || wanted > limits.max_subgroup_size) {
    fail(ErrorCode::kUnsupported,
         "the shader requires subgroups of {}, this device offers powers of two in [{}, {}]",
         wanted, limits.min_subgroup_size, limits.max_subgroup_size);
  }
  const std::uint64_t invocations = std::uint64_t{local_size[0]} * local_size[1] * local_size[2];
  if (invocations > std::uint64_t{wanted} * limits.max_workgroup_subgroups) {
    fail(ErrorCode::kUnsupported,
         "{} invocations in subgroups of {} are above this device's {} subgroups a workgroup",
         invocations, wanted, limits.max_workgroup_subgroups);
  }
  return wanted;
}

vk::DescriptorType descriptor_type(BindingKind kind) {
  return kind == BindingKind::kStorageBuffer ? vk::DescriptorType::eStorageBuffer
                                             : vk::DescriptorType::eUniformTexelBuffer;
}

vk::raii::DescriptorSetLayout make_set_layout(const vk::raii::Device& device,
                                              const ShaderInterface& interface) {
  std::vector<vk::DescriptorSetLayoutBinding> bindings;
  for (const BindingKind kind : interface.bindings) {
    const auto number = static_cast<std::uint32_t>(bindings.size());
    bindings.emplace_back(number, descriptor_type(kind), 1, vk::ShaderStageFlagBits::eCompute);
  }
  return {device, vk::DescriptorSetLayoutCreateInfo({}, bindings)};
}

vk::raii::PipelineLayout make_layout(const vk::raii::Device& device,
                                     const vk::raii::DescriptorSetLayout& set,
                                     std::uint32_t push_constants_bytes) {
  const vk::PushConstantRange range(vk::ShaderStageFlagBits::eCompute, 0, push_constants_bytes);
  vk::PipelineLayoutCreateInfo info;
  info.setSetLayouts(*set);
  if (push_constants_bytes != 0) info.setPushConstantRanges(range);
  return {device, info};
}

}  // namespace

Pipeline::Pipeline() = default;
Pipeline::~Pipeline() { destroy_or_leak(impl_); }
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&& other) noexcept {
  std::swap(impl_, other.impl_);
  destroy_or_leak(other.impl_);
  return *this;
}

const ShaderInterface& Pipeline::interface() const { return impl_->interface; }

std::vector<CompiledExecutable> Pipeline::executables() const {
  const Device::Impl& device = *impl_->device;
  if (device.statistics == CompilerStatistics::kDiscard) return {};
  device.check_usable();
  const auto& functions = device.dispatcher();
  return read_executables(
      *device.handle, *impl_->handle,
      {.properties = functions.vkGetPipelineExecutablePropertiesKHR,
       .statistics = functions.vkGetPipelineExecutableStatisticsKHR,
       .representations = device.statistics == CompilerStatistics::kKeepWithTexts
                              ? functions.vkGetPipelineExecutableInternalRepresentationsKHR
                              : nullptr});
}

Pipeline Device::create_pipeline(std::span<const std::uint32_t> spirv,
                                 const ShaderInterface& interface, std::string* own_cache) {
  impl_->check_usable();
  const SpirvSummary summary = summarise_spirv(spirv);
  check_interface(interface, impl_->details);
  check_workgroup(summary.local_size, impl_->limits());
  const std::uint32_t subgroup_size =
      required_subgroup_size(interface.subgroup_size, impl_->details, summary.local_size);

  auto made = std::make_unique<Pipeline::Impl>();
  made->device = impl_;
  made->interface = interface;
  const auto create = [&] {
    made->set_layout = make_set_layout(impl_->handle, interface);
    made->layout = make_layout(impl_->handle, made->set_layout, interface.push_constants_bytes);
    vk::ShaderModuleCreateInfo module_info;
    module_info.codeSize = spirv.size_bytes();
    module_info.pCode = spirv.data();
    const vk::raii::ShaderModule module(impl_->handle, module_info);

    vk::ComputePipelineCreateInfo info;
    if (impl_->statistics != CompilerStatistics::kDiscard && own_cache == nullptr)
      info.flags |= vk::PipelineCreateFlagBits::eCaptureStatisticsKHR;
    if (impl_->statistics == CompilerStatistics::kKeepWithTexts && own_cache == nullptr)
      info.flags |= vk::PipelineCreateFlagBits::eCaptureInternalRepresentationsKHR;
    info.layout = *made->layout;
    info.stage.stage = vk::ShaderStageFlagBits::eCompute;
    info.stage.module = *module;
    info.stage.pName = "main";
    vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo required;
    if (subgroup_size != 0) {
      // Required even if it is the default, because some drivers otherwise report one size and run
      // another.
      required.requiredSubgroupSize = subgroup_size;
      info.stage.pNext = &required;
      const bool whole = summary.local_size[0] != 0 && summary.local_size[0] % subgroup_size == 0;
      if (whole && impl_->details.full_subgroups) {
        info.stage.flags |= vk::PipelineShaderStageCreateFlagBits::eRequireFullSubgroups;
      }
    }
    if (own_cache == nullptr) {
      made->handle = vk::raii::Pipeline(impl_->handle, impl_->cache, info);
      return;
    }
    const vk::raii::PipelineCache empty(impl_->handle, vk::PipelineCacheCreateInfo());
    made->handle = vk::raii::Pipeline(impl_->handle, empty, info);
    const std::vector<std::uint8_t> data = empty.getData();
    own_cache->assign(data.begin(), data.end());
  };
  impl_->driver("compiling a compute pipeline", create, ErrorCode::kCompile);
  ++impl_->pipelines;
  Pipeline pipeline;
  pipeline.impl_ = std::move(made);
  return pipeline;
}

std::string Device::take_code() {
  std::string code;
  impl_->driver("reading compiled code", [&] {
    const std::vector<std::uint8_t> data = impl_->cache.getData();
    impl_->cache = vk::raii::PipelineCache(impl_->handle, vk::PipelineCacheCreateInfo());
    // What has no more than this header holds no code.
    if (data.size() > sizeof(VkPipelineCacheHeaderVersionOne))
      code.assign(data.begin(), data.end());
  });
  return code;
}

void Device::add_code(std::string_view code) {
  vk::PipelineCacheCreateInfo info;
  info.initialDataSize = code.size();
  info.pInitialData = code.data();
  try {
    const vk::raii::PipelineCache added(impl_->handle, info);
    impl_->cache.merge(*added);
  } catch (const vk::SystemError&) {
  }
}

}  // namespace rooftile
