#include "runtime/device/physical/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/device/physical/driver_list.h"
#include "runtime/device/physical/driver_text.h"
#include "runtime/device/physical/matrix_units.h"
#include "runtime/device/physical/queue_family.h"
#include "runtime/device/physical/subgroups.h"

namespace rooftile {
namespace {

std::string hex(const vk::ArrayWrapper1D<std::uint8_t, VK_UUID_SIZE>& bytes) {
  return fmt::format("{:02x}", fmt::join(bytes.begin(), bytes.end(), ""));
}

/// llvmpipe (LP_MAX_TGSI_LOOP_ITERATIONS) silently leaves loops after 65535 iterations of an
/// invocation in all: measured on Mesa 22.3.6, nested loops of 66 x 1000 iterations stop at 65405.
constexpr std::uint32_t kLlvmpipeLoopTrips = 65535;

DeviceKind kind_of(vk::PhysicalDeviceType type) {
  switch (type) {
    case vk::PhysicalDeviceType::eDiscreteGpu:
      return DeviceKind::kDiscrete;
    case vk::PhysicalDeviceType::eIntegratedGpu:
      return DeviceKind::kIntegrated;
    case vk::PhysicalDeviceType::eVirtualGpu:
      return DeviceKind::kVirtual;
    case vk::PhysicalDeviceType::eCpu:
      return DeviceKind::kSoftware;
    case vk::PhysicalDeviceType::eOther:
      break;
  }
  return DeviceKind::kOther;
}

/// Extensible property and feature structures that this device knows; the others stay zero.
struct Properties {
  vk::PhysicalDeviceProperties2 base;
  vk::PhysicalDeviceIDProperties id;
  vk::PhysicalDeviceSubgroupProperties subgroup;
  vk::PhysicalDeviceMaintenance3Properties allocation;
  vk::PhysicalDeviceDriverProperties driver;                     // Vulkan 1.2 or an extension.
  vk::PhysicalDeviceSubgroupSizeControlProperties size_control;  // Vulkan 1.3 or an extension.
  vk::PhysicalDeviceMaintenance4Properties buffer;               // Vulkan 1.3 or an extension.
  vk::PhysicalDeviceFeatures features;
  vk::PhysicalDeviceSubgroupSizeControlFeatures size_features;
  vk::PhysicalDeviceShaderFloat16Int8Features small_types;  // Vulkan 1.2 or an extension.
  vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT float_atomics;
  vk::PhysicalDeviceShaderIntegerDotProductFeatures dot;  // Vulkan 1.3 or an extension.
  vk::PhysicalDeviceShaderIntegerDotProductProperties dot_speed;
  vk::PhysicalDeviceExternalMemoryHostPropertiesEXT host_memory;
  vk::PhysicalDeviceShaderCorePropertiesAMD cores_amd;
  vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV cores_nv;
  vk::PhysicalDeviceShaderCoreBuiltinsPropertiesARM cores_arm;

  Properties(const vk::raii::PhysicalDevice& physical,
             const std::vector<vk::ExtensionProperties>& extensions) {
    const std::uint32_t api = physical.getProperties().apiVersion;
    const auto knows = [&](std::uint32_t since, const char* extension) {
      return api >= since || has_extension(extensions, extension);
    };
    const auto append = [&](auto& structure) {
      structure.pNext = base.pNext;
      base.pNext = &structure;
    };
    append(id);
    append(subgroup);
    append(allocation);
    if (knows(VK_API_VERSION_1_2, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) append(driver);
    if (knows(VK_API_VERSION_1_3, VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) append(buffer);
    const bool size_known = knows(VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    if (size_known) append(size_control);
    const bool dot_known =
        knows(VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    if (dot_known) append(dot_speed);
    const auto append_of = [&](const char* extension, auto& structure) {
      if (has_extension(extensions, extension)) append(structure);
    };
    append_of(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, host_memory);
    append_of(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME, cores_amd);
    append_of(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME, cores_nv);
    append_of(VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME, cores_arm);
    (*physical).getProperties2(&base, *physical.getDispatcher());
    vk::PhysicalDeviceFeatures2 of_all;
    const auto append_features = [&](auto& structure) {
      structure.pNext = of_all.pNext;
      of_all.pNext = &structure;
    };
    if (size_known) append_features(size_features);
    if (knows(VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME))
      append_features(small_types);
    if (dot_known) append_features(dot);
    if (has_extension(extensions, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME))
      append_features(float_atomics);
    (*physical).getFeatures2(&of_all, *physical.getDispatcher());
    features = of_all.features;
  }
};

std::vector<MemoryType> memory_types_of(const vk::PhysicalDeviceMemoryProperties& memory) {
  using Flag = vk::MemoryPropertyFlagBits;
  constexpr auto kOrdinary =
      Flag::eDeviceLocal | Flag::eHostVisible | Flag::eHostCoherent | Flag::eHostCached;
  std::vector<MemoryType> types;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const auto flags = memory.memoryTypes[i].propertyFlags;
    types.push_back({.device_local = static_cast<bool>(flags & Flag::eDeviceLocal),
                     .host_visible = static_cast<bool>(flags & Flag::eHostVisible),
                     .host_coherent = static_cast<bool>(flags & Flag::eHostCoherent),
                     .host_cached = static_cast<bool>(flags & Flag::eHostCached),
                     .special = static_cast<bool>(flags & ~kOrdinary),
                     .heap_bytes = memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size});
  }
  return types;
}

/// Only integrated and software devices have unified memory. A discrete card with a resizable BAR
/// also has a device-local, host-visible type as large as its memory, but the host reads it over
/// the bus at tens of MB/s.
bool has_unified_memory(DeviceKind kind, std::uint64_t largest_heap,
                        const std::vector<MemoryType>& types) {
  if (kind != DeviceKind::kIntegrated && kind != DeviceKind::kSoftware) return false;
  return std::any_of(types.begin(), types.end(), [&](const MemoryType& type) {
    return type.device_local && type.host_visible && type.host_coherent && !type.special &&
           type.heap_bytes == largest_heap;
  });
}

std::uint64_t largest_device_heap(const vk::PhysicalDeviceMemoryProperties& memory) {
  std::uint64_t largest = 0;
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    if (memory.memoryHeaps[i].flags & vk::MemoryHeapFlagBits::eDeviceLocal) {
      largest = std::max<std::uint64_t>(largest, memory.memoryHeaps[i].size);
    }
  }
  return largest;
}

/// Whether buffers may be bound to host memory. Only for devices with VK_EXT_external_memory_host:
/// SwiftShader has it, and says no.
bool imports_host_memory(const vk::raii::PhysicalDevice& physical) {
  const vk::ExternalBufferProperties known = physical.getExternalBufferProperties(
      {{}, kBufferUsage, vk::ExternalMemoryHandleTypeFlagBits::eHostAllocationEXT});
  return static_cast<bool>(known.externalMemoryProperties.externalMemoryFeatures &
                           vk::ExternalMemoryFeatureFlagBits::eImportable);
}

bool texel_format(const vk::raii::PhysicalDevice& physical, vk::Format format) {
  return static_cast<bool>(physical.getFormatProperties(format).bufferFeatures &
                           vk::FormatFeatureFlagBits::eUniformTexelBuffer);
}

ReportedSubgroups reported_subgroups(const Properties& properties) {
  const auto compute = vk::ShaderStageFlagBits::eCompute;
  return {
      .size = properties.subgroup.subgroupSize,
      .broadcast = (properties.subgroup.supportedStages & compute) &&
                   (properties.subgroup.supportedOperations & vk::SubgroupFeatureFlagBits::eBallot),
      .size_control = properties.size_features.subgroupSizeControl &&
                      (properties.size_control.requiredSubgroupSizeStages & compute),
      .least = properties.size_control.minSubgroupSize,
      .most = properties.size_control.maxSubgroupSize,
      .max_workgroup_subgroups = properties.size_control.maxComputeWorkgroupSubgroups};
}

/// Returns the number from whichever vendor extension the device has; 0: it has none.
std::uint32_t compute_units(const Properties& properties) {
  const auto& amd = properties.cores_amd;
  return std::max(
      {amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray,
       properties.cores_nv.shaderSMCount, properties.cores_arm.shaderCoreCount});
}

DeviceLimits limits_of(const Properties& properties) {
  const vk::PhysicalDeviceLimits& vulkan = properties.base.properties.limits;
  DeviceLimits limits;
  limits.max_workgroup_invocations = vulkan.maxComputeWorkGroupInvocations;
  std::copy_n(vulkan.maxComputeWorkGroupSize.begin(), 3, limits.max_workgroup_size.begin());
  std::copy_n(vulkan.maxComputeWorkGroupCount.begin(), 3, limits.max_workgroup_count.begin());
  limits.shared_memory_bytes = vulkan.maxComputeSharedMemorySize;
  limits.max_push_constants_bytes = vulkan.maxPushConstantsSize;
  limits.max_storage_buffer_range_bytes = vulkan.maxStorageBufferRange;
  limits.max_texel_buffer_elements = vulkan.maxTexelBufferElements;
  limits.storage_buffer_alignment_bytes =
      static_cast<std::uint32_t>(vulkan.minStorageBufferOffsetAlignment);
  limits.texel_buffer_alignment_bytes =
      static_cast<std::uint32_t>(vulkan.minTexelBufferOffsetAlignment);
  limits.max_memory_allocation_bytes = properties.allocation.maxMemoryAllocationSize;
  if (properties.buffer.maxBufferSize != 0) {
    limits.max_memory_allocation_bytes = std::min<std::uint64_t>(limits.max_memory_allocation_bytes,
                                                                 properties.buffer.maxBufferSize);
  }
  limits.timestamp_period_ns = vulkan.timestampPeriod;
  limits.compute_units = compute_units(properties);

  limits.float16_arithmetic = properties.small_types.shaderFloat16;
  limits.int8_arithmetic = properties.small_types.shaderInt8;
  limits.float64_arithmetic = properties.features.shaderFloat64;
  limits.float32_atomic_add = properties.float_atomics.shaderBufferFloat32AtomicAdd;
  limits.integer_dot_product = properties.dot.shaderIntegerDotProduct;
  limits.integer_dot_product_accelerated =
      properties.dot_speed.integerDotProduct4x8BitPackedSignedAccelerated;

  take_subgroups(reported_subgroups(properties), limits);
  return limits;
}

}  // namespace

std::optional<PhysicalDetails> read_details(const vk::raii::PhysicalDevice& physical,
                                            vk::Instance instance) {
  if (physical.getProperties().apiVersion < VK_API_VERSION_1_1) return std::nullopt;
  std::vector<QueueFamily> families;
  for (const auto& family : physical.getQueueFamilyProperties()) {
    families.push_back(
        {.compute = static_cast<bool>(family.queueFlags & vk::QueueFlagBits::eCompute),
         .queue_count = family.queueCount,
         .timestamp_valid_bits = family.timestampValidBits});
  }
  const auto queue_family = choose_queue_family(families);
  if (!queue_family) return std::nullopt;

  const auto extensions = physical.enumerateDeviceExtensionProperties();
  const Properties properties(physical, extensions);
  const vk::PhysicalDeviceProperties& base = properties.base.properties;
  const auto memory = physical.getMemoryProperties();

  PhysicalDetails details;
  details.queue_family = *queue_family;
  details.memory_types = memory_types_of(memory);
  details.full_subgroups = properties.size_features.computeFullSubgroups;
  details.max_storage_bindings = base.limits.maxPerStageDescriptorStorageBuffers;
  details.max_texel_bindings = base.limits.maxPerStageDescriptorSampledImages;
  const auto& conformance = properties.driver.conformanceVersion;
  details.offer.conformance = {conformance.major, conformance.minor, conformance.subminor,
                               conformance.patch};

  DeviceProfile& profile = details.offer.profile;
  profile.name = base.deviceName.data();
  profile.device_uuid = hex(properties.id.deviceUUID);
  profile.vendor_id = base.vendorID;
  profile.device_id = base.deviceID;
  profile.driver_id = static_cast<std::uint32_t>(properties.driver.driverID);
  profile.driver_name = properties.driver.driverName.data();
  profile.driver_version = base.driverVersion;
  profile.driver_info =
      driver_text(profile.driver_name, properties.driver.driverInfo.data(), profile.driver_version);
  profile.pipeline_cache_uuid = hex(base.pipelineCacheUUID);
  profile.api_version = base.apiVersion;
  profile.kind = kind_of(base.deviceType);
  profile.device_memory_bytes = largest_device_heap(memory);
  profile.unified_memory =
      has_unified_memory(profile.kind, profile.device_memory_bytes, details.memory_types);
  profile.limits = limits_of(properties);
  if (properties.driver.driverID == vk::DriverId::eMesaLlvmpipe) {
    profile.limits.max_loop_trips = kLlvmpipeLoopTrips;
  }
  MatrixUnits matrices;
  if (is_subgroup_size(properties.subgroup.subgroupSize))
    matrices = read_matrix_units(physical, instance, extensions);
  profile.limits.matrix_shapes = std::move(matrices.shapes);
  profile.limits.matrix_granularities = std::move(matrices.granularities);
  profile.limits.max_matrix_dimension = matrices.max_dimension;
  profile.limits.workgroup_matrices = std::move(matrices.workgroup);
  profile.limits.workgroup_matrix_shared_bytes = matrices.workgroup_shared_bytes;
  profile.limits.timestamp_valid_bits = families[*queue_family].timestamp_valid_bits;
  if (const auto alignment = properties.host_memory.minImportedHostPointerAlignment;
      alignment != 0 && imports_host_memory(physical))
    profile.limits.host_import_alignment_bytes = alignment;
  profile.limits.texel_buffer_r32 = texel_format(physical, vk::Format::eR32Sfloat);
  profile.limits.texel_buffer_rgba32 = texel_format(physical, vk::Format::eR32G32B32A32Sfloat);
  return details;
}

}  // namespace rooftile
