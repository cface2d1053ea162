// Matrix units of a physical device: VK_KHR_cooperative_matrix, and the flexible shapes and
// workgroup matrices of VK_NV_cooperative_matrix2. Private to runtime/device.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device_profile.h"
#include "runtime/device/physical/vulkan.h"

// Debian 12's headers (1.3.239) are older than these extensions. Their enumerations have the width
// of int.
#ifndef VK_KHR_cooperative_matrix
#define VK_KHR_cooperative_matrix 1
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME "VK_KHR_cooperative_matrix"
typedef int VkComponentTypeKHR;
typedef int VkScopeKHR;
constexpr VkComponentTypeKHR VK_COMPONENT_TYPE_FLOAT16_KHR = 0, VK_COMPONENT_TYPE_FLOAT32_KHR = 1,
                             VK_COMPONENT_TYPE_SINT8_KHR = 3, VK_COMPONENT_TYPE_SINT32_KHR = 5,
                             VK_COMPONENT_TYPE_UINT8_KHR = 7, VK_COMPONENT_TYPE_UINT32_KHR = 9;
constexpr VkScopeKHR VK_SCOPE_WORKGROUP_KHR = 2, VK_SCOPE_SUBGROUP_KHR = 3;
constexpr auto VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR =
    static_cast<VkStructureType>(1000506000);
constexpr auto VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR =
    static_cast<VkStructureType>(1000506001);
struct VkCooperativeMatrixPropertiesKHR {
  VkStructureType sType;
  void* pNext;
  std::uint32_t MSize, NSize, KSize;
  VkComponentTypeKHR AType, BType, CType, ResultType;
  VkBool32 saturatingAccumulation;
  VkScopeKHR scope;
};
struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
};
typedef VkResult(VKAPI_PTR* PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(
    VkPhysicalDevice, std::uint32_t*, VkCooperativeMatrixPropertiesKHR*);
#endif
#ifndef VK_NV_cooperative_matrix2
#define VK_NV_cooperative_matrix2 1
#define VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME "VK_NV_cooperative_matrix2"
constexpr auto VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV =
    static_cast<VkStructureType>(1000593000);
constexpr auto VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV =
    static_cast<VkStructureType>(1000593001);
constexpr auto VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV =
    static_cast<VkStructureType>(1000593002);
struct VkCooperativeMatrixFlexibleDimensionsPropertiesNV {
  VkStructureType sType;
  void* pNext;
  std::uint32_t MGranularity, NGranularity, KGranularity;
  VkComponentTypeKHR AType, BType, CType, ResultType;
  VkBool32 saturatingAccumulation;
  VkScopeKHR scope;
  std::uint32_t workgroupInvocations;
};
struct VkPhysicalDeviceCooperativeMatrix2FeaturesNV {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrixWorkgroupScope, cooperativeMatrixFlexibleDimensions,
      cooperativeMatrixReductions, cooperativeMatrixConversions,
      cooperativeMatrixPerElementOperations, cooperativeMatrixTensorAddressing,
      cooperativeMatrixBlockLoads;
};
struct VkPhysicalDeviceCooperativeMatrix2PropertiesNV {
  VkStructureType sType;
  void* pNext;
  std::uint32_t cooperativeMatrixWorkgroupScopeMaxWorkgroupSize,
      cooperativeMatrixFlexibleDimensionsMaxDimension,
      cooperativeMatrixWorkgroupScopeReservedSharedMemory;
};
typedef VkResult(VKAPI_PTR* PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)(
    VkPhysicalDevice, std::uint32_t*, VkCooperativeMatrixFlexibleDimensionsPropertiesNV*);
#endif
#ifndef VK_KHR_shader_bfloat16
#define VK_KHR_shader_bfloat16 1
#define VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME "VK_KHR_shader_bfloat16"
constexpr auto VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR =
    static_cast<VkStructureType>(1000141000);
constexpr auto VK_COMPONENT_TYPE_BFLOAT16_KHR = static_cast<VkComponentTypeKHR>(1000141000);
struct VkPhysicalDeviceShaderBfloat16FeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderBFloat16Type, shaderBFloat16DotProduct, shaderBFloat16CooperativeMatrix;
};
#endif

namespace rooftile {

/// Matrix units that the driver offers; empty where a required feature is missing or the driver's
/// lists cannot be read.
struct MatrixUnits {
  std::vector<MatrixShape> shapes, granularities;
  std::uint32_t max_dimension = 0;  ///< Limit of shapes that are multiples of granularities.
  bool bfloat16 = false;
  std::vector<WorkgroupMatrix> workgroup;    ///< Only with tensor addressing.
  std::uint32_t workgroup_shared_bytes = 0;  ///< Shared memory that the driver reserves.
};
MatrixUnits read_matrix_units(const vk::raii::PhysicalDevice& physical, vk::Instance instance,
                              const std::vector<vk::ExtensionProperties>& extensions);

/// Features and extensions that a device with these limits is opened with.
class MatrixFeatures {
 public:
  explicit MatrixFeatures(const DeviceLimits& limits);
  MatrixFeatures(const MatrixFeatures&) = delete;
  MatrixFeatures& operator=(const MatrixFeatures&) = delete;

  /// Adds what the limits require; `features` must live while *this does.
  void append_to(vk::PhysicalDeviceFeatures2& features, std::vector<const char*>& extensions);

 private:
  bool any_ = false, flexible_ = false, workgroup_ = false, bfloat16_ = false;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices_ = {};
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV flexible_features_ = {};
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16_features_ = {};
  vk::PhysicalDeviceVulkanMemoryModelFeatures memory_model_;
};

}  // namespace rooftile
