#include "runtime/device/physical/features.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/device/physical/driver_list.h"

namespace rooftile {

DeviceFeatures::DeviceFeatures(const vk::raii::PhysicalDevice& physical,
                               const PhysicalDetails& details)
    : matrices_(details.offer.profile.limits) {
  const DeviceProfile& profile = details.offer.profile;
  const DeviceLimits& limits = profile.limits;
  const auto chain = [&](auto& structure) {
    structure.pNext = std::exchange(features_.pNext, &structure);
  };
  const auto extend = [&](std::uint32_t core_since, const char* extension) {
    if (profile.api_version < core_since) extensions_.push_back(extension);
  };
  // Must be enabled where it is offered (layered drivers such as MoltenVK).
  constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";
  if (has_extension(physical.enumerateDeviceExtensionProperties(), kPortabilitySubset))
    extensions_.push_back(kPortabilitySubset);
  if (limits.subgroup_size_control) {
    extend(VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    subgroup_size_.subgroupSizeControl = VK_TRUE;
    subgroup_size_.computeFullSubgroups = details.full_subgroups;
    chain(subgroup_size_);
  }
  if (limits.float16_arithmetic || limits.int8_arithmetic) {
    extend(VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
    small_types_.shaderFloat16 = limits.float16_arithmetic;
    small_types_.shaderInt8 = limits.int8_arithmetic;
    chain(small_types_);
  }
  features_.features.shaderFloat64 = limits.float64_arithmetic;
  if (limits.float32_atomic_add) {
    extensions_.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
    float_atomics_.shaderBufferFloat32Atomics = VK_TRUE;
    float_atomics_.shaderBufferFloat32AtomicAdd = VK_TRUE;
    chain(float_atomics_);
  }
  if (limits.integer_dot_product) {
    extend(VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    dot_.shaderIntegerDotProduct = VK_TRUE;
    chain(dot_);
  }
  if (limits.host_import_alignment_bytes != 0)
    extensions_.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  matrices_.append_to(features_, extensions_);
}

namespace {

/// Relevant features that a program has enabled, in whichever structure.
struct Enabled {
  bool size_control = false, full_subgroups = false, float16 = false, int8 = false;
  bool float64 = false;
  bool float32_atomic_add = false, dot = false;
  bool memory_model = false, matrices = false, flexible = false, workgroup = false, tensors = false,
       bfloat16 = false;
};

template <typename Structure>
const Structure& as(const VkBaseInStructure* link) {
  return *reinterpret_cast<const Structure*>(link);
}

Enabled enabled_by(const vk::DeviceCreateInfo& made_with) {
  Enabled on;
  const auto set = [](bool& flag, VkBool32 value) { flag = flag || value != VK_FALSE; };
  if (made_with.pEnabledFeatures != nullptr)
    set(on.float64, made_with.pEnabledFeatures->shaderFloat64);
  const auto* link = static_cast<const VkBaseInStructure*>(made_with.pNext);
  for (; link != nullptr; link = link->pNext) {
    switch (static_cast<int>(link->sType)) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
        const auto& x = as<VkPhysicalDeviceSubgroupSizeControlFeatures>(link);
        set(on.size_control, x.subgroupSizeControl);
        set(on.full_subgroups, x.computeFullSubgroups);
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
        set(on.float64, as<VkPhysicalDeviceFeatures2>(link).features.shaderFloat64);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES: {
        const auto& x = as<VkPhysicalDeviceShaderFloat16Int8Features>(link);
        set(on.float16, x.shaderFloat16);
        set(on.int8, x.shaderInt8);
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES:
        set(on.dot,
            as<VkPhysicalDeviceShaderIntegerDotProductFeatures>(link).shaderIntegerDotProduct);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES:
        set(on.memory_model, as<VkPhysicalDeviceVulkanMemoryModelFeatures>(link).vulkanMemoryModel);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
        const auto& x = as<VkPhysicalDeviceVulkan12Features>(link);
        set(on.float16, x.shaderFloat16);
        set(on.int8, x.shaderInt8);
        set(on.memory_model, x.vulkanMemoryModel);
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: {
        const auto& x = as<VkPhysicalDeviceVulkan13Features>(link);
        set(on.size_control, x.subgroupSizeControl);
        set(on.full_subgroups, x.computeFullSubgroups);
        set(on.dot, x.shaderIntegerDotProduct);
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT: {
        const auto& x = as<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(link);
        set(on.float32_atomic_add, x.shaderBufferFloat32AtomicAdd);
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR:
        set(on.matrices, as<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(link).cooperativeMatrix);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV: {
        const auto& x = as<VkPhysicalDeviceCooperativeMatrix2FeaturesNV>(link);
        set(on.flexible, x.cooperativeMatrixFlexibleDimensions);
        set(on.workgroup, x.cooperativeMatrixWorkgroupScope);
        set(on.tensors, x.cooperativeMatrixTensorAddressing);
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR: {
        const auto& x = as<VkPhysicalDeviceShaderBfloat16FeaturesKHR>(link);
        set(on.bfloat16, x.shaderBFloat16Type && x.shaderBFloat16CooperativeMatrix);
        break;
      }
      default:
        break;
    }
  }
  return on;
}

}  // namespace

void leave_version(PhysicalDetails& details, std::uint32_t api_version) {
  DeviceProfile& profile = details.offer.profile;
  DeviceLimits& limits = profile.limits;
  profile.api_version = std::min(profile.api_version, api_version);
  // Matrix units need SPIR-V 1.5, tensor addressing needs 1.6.
  if (profile.api_version < VK_API_VERSION_1_2) {
    limits.matrix_shapes.clear();
    limits.matrix_granularities.clear();
  }
  if (profile.api_version < VK_API_VERSION_1_3) limits.workgroup_matrices.clear();
}

void leave_enabled(PhysicalDetails& details, const vk::DeviceCreateInfo& made_with) {
  const Enabled on = enabled_by(made_with);
  DeviceLimits& limits = details.offer.profile.limits;
  if (!on.size_control && limits.subgroup_size_control) {
    limits.subgroup_size_control = false;
    limits.min_subgroup_size = limits.max_subgroup_size = limits.subgroup_size;
    limits.max_workgroup_subgroups = 0;
  }
  details.full_subgroups = details.full_subgroups && on.full_subgroups;
  limits.float16_arithmetic = limits.float16_arithmetic && on.float16;
  limits.int8_arithmetic = limits.int8_arithmetic && on.int8;
  limits.float64_arithmetic = limits.float64_arithmetic && on.float64;
  limits.float32_atomic_add = limits.float32_atomic_add && on.float32_atomic_add;
  limits.integer_dot_product = limits.integer_dot_product && on.dot;
  const std::span extensions(made_with.ppEnabledExtensionNames, made_with.enabledExtensionCount);
  if (std::ranges::none_of(extensions, [](std::string_view name) {
        return name == VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
      }))
    limits.host_import_alignment_bytes = 0;

  const bool units = on.matrices && on.memory_model;
  if (!units) limits.matrix_shapes.clear();
  if (!units || !on.flexible) limits.matrix_granularities.clear();
  if (!units || !on.flexible || !on.workgroup || !on.tensors) limits.workgroup_matrices.clear();
  const auto not_enabled = [&](const MatrixShape& shape) {
    return shape.operand == DataType::kBf16 && !on.bfloat16;
  };
  std::erase_if(limits.matrix_shapes, not_enabled);
  std::erase_if(limits.matrix_granularities, not_enabled);
  std::erase_if(limits.workgroup_matrices,
                [&](const WorkgroupMatrix& matrix) { return not_enabled(matrix.unit); });
}

}  // namespace rooftile
