#include "runtime/device/physical/matrix_units.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/device/physical/driver_list.h"

namespace rooftile {
namespace {

// Plausible limits; shapes with longer sides, and longer lists, are ignored.
constexpr std::uint32_t kLongestSide = 1024;
constexpr std::uint32_t kMostShapes = 1024;

std::optional<DataType> type_of(VkComponentTypeKHR component) {
  switch (static_cast<int>(component)) {
    case static_cast<int>(VK_COMPONENT_TYPE_FLOAT16_KHR):
      return DataType::kF16;
    case static_cast<int>(VK_COMPONENT_TYPE_FLOAT32_KHR):
      return DataType::kF32;
    case static_cast<int>(VK_COMPONENT_TYPE_SINT8_KHR):
      return DataType::kI8;
    case static_cast<int>(VK_COMPONENT_TYPE_UINT8_KHR):
      return DataType::kU8;
    // Sums of u8 are unsigned there and below 2^31 (core/problem.cpp), so they have the same bits
    // as i32.
    case static_cast<int>(VK_COMPONENT_TYPE_SINT32_KHR):
    case static_cast<int>(VK_COMPONENT_TYPE_UINT32_KHR):
      return DataType::kI32;
    case static_cast<int>(VK_COMPONENT_TYPE_BFLOAT16_KHR):
      return DataType::kBf16;
    default:
      return std::nullopt;
  }
}

bool is_unsigned(VkComponentTypeKHR component) {
  return component == VK_COMPONENT_TYPE_UINT8_KHR || component == VK_COMPONENT_TYPE_UINT32_KHR;
}

/// Returns the shape for our types and this scope, or no value.
template <typename Offered>
std::optional<MatrixShape> shape_of(const Offered& x, std::uint32_t m, std::uint32_t n,
                                    std::uint32_t k, VkScopeKHR scope) {
  const auto operand = type_of(x.AType), sum = type_of(x.CType);
  const bool sides = std::min({m, n, k}) > 0 && std::max({m, n, k}) <= kLongestSide;
  if (!operand || !sum || x.AType != x.BType || x.CType != x.ResultType ||
      is_unsigned(x.AType) != is_unsigned(x.CType) || !sides ||
      x.saturatingAccumulation != VK_FALSE || x.scope != scope)
    return std::nullopt;
  return MatrixShape{static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), *operand, *sum};
}

void add_once(std::vector<MatrixShape>& shapes, const std::optional<MatrixShape>& shape,
              bool bfloat16) {
  if (!shape || (shape->operand == DataType::kBf16 && !bfloat16)) return;
  if (std::ranges::find(shapes, *shape) == shapes.end()) shapes.push_back(*shape);
}

void add_once(std::vector<WorkgroupMatrix>& matrices, const std::optional<MatrixShape>& unit,
              std::uint32_t invocations, std::uint32_t most_invocations, bool bfloat16) {
  if (!unit || (unit->operand == DataType::kBf16 && !bfloat16)) return;
  if (invocations == 0 || invocations > most_invocations) return;
  const WorkgroupMatrix matrix = {*unit, static_cast<int>(invocations)};
  if (std::ranges::find(matrices, matrix) == matrices.end()) matrices.push_back(matrix);
}

/// Returns the list of the driver function with that name for the device; empty if there is no such
/// function.
template <typename Entry, typename Function>
std::vector<Entry> list_of(const vk::raii::PhysicalDevice& physical, vk::Instance instance,
                           const char* name, VkStructureType type) {
  const auto function =
      reinterpret_cast<Function>(physical.getDispatcher()->vkGetInstanceProcAddr(instance, name));
  if (function == nullptr) return {};
  return driver_list<Entry>(
      [&](std::uint32_t* count, Entry* entries) { return function(*physical, count, entries); },
      kMostShapes, type);
}

}  // namespace

MatrixUnits read_matrix_units(const vk::raii::PhysicalDevice& physical, vk::Instance instance,
                              const std::vector<vk::ExtensionProperties>& extensions) {
  // Shaders for matrix units are SPIR-V 1.5 in the Vulkan memory model.
  if (physical.getProperties().apiVersion < VK_API_VERSION_1_2 ||
      !has_extension(extensions, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
    return {};
  const bool flexible = has_extension(extensions, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME),
             bfloat16 = has_extension(extensions, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, nullptr, 0, 0};
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV flexible_features = {};
  flexible_features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV;
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16_features = {};
  bfloat16_features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
  VkPhysicalDeviceCooperativeMatrix2PropertiesNV flexible_properties = {};
  flexible_properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV;

  vk::PhysicalDeviceVulkanMemoryModelFeatures memory_model;
  vk::PhysicalDeviceFeatures2 features;
  features.pNext = &memory_model;
  memory_model.pNext = &matrices;
  if (bfloat16) bfloat16_features.pNext = std::exchange(matrices.pNext, &bfloat16_features);
  if (flexible) flexible_features.pNext = std::exchange(matrices.pNext, &flexible_features);
  (*physical).getFeatures2(&features, *physical.getDispatcher());
  // Where the memory model is enabled, the scope of atomic operations in other kernels is, too.
  if (matrices.cooperativeMatrix == VK_FALSE || memory_model.vulkanMemoryModel == VK_FALSE ||
      memory_model.vulkanMemoryModelDeviceScope == VK_FALSE)
    return {};

  MatrixUnits units;
  units.bfloat16 = bfloat16 && bfloat16_features.shaderBFloat16Type != VK_FALSE &&
                   bfloat16_features.shaderBFloat16CooperativeMatrix != VK_FALSE;
  const auto shapes = list_of<VkCooperativeMatrixPropertiesKHR,
                              PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      physical, instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
      VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
  for (const auto& x : shapes)
    add_once(units.shapes, shape_of(x, x.MSize, x.NSize, x.KSize, VK_SCOPE_SUBGROUP_KHR),
             units.bfloat16);
  if (units.shapes.empty() || !flexible ||
      flexible_features.cooperativeMatrixFlexibleDimensions == VK_FALSE)
    return units;

  vk::PhysicalDeviceProperties2 properties;
  properties.pNext = &flexible_properties;
  (*physical).getProperties2(&properties, *physical.getDispatcher());
  units.max_dimension =
      std::min(flexible_properties.cooperativeMatrixFlexibleDimensionsMaxDimension, kLongestSide);
  const auto granularities =
      list_of<VkCooperativeMatrixFlexibleDimensionsPropertiesNV,
              PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV>(
          physical, instance, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
          VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV);
  const auto unit_of = [](const VkCooperativeMatrixFlexibleDimensionsPropertiesNV& x,
                          VkScopeKHR scope) {
    return shape_of(x, x.MGranularity, x.NGranularity, x.KGranularity, scope);
  };
  for (const auto& x : granularities)
    add_once(units.granularities, unit_of(x, VK_SCOPE_SUBGROUP_KHR), units.bfloat16);
  // Tensor addressing needs SPIR-V 1.6.
  if (flexible_features.cooperativeMatrixWorkgroupScope == VK_FALSE ||
      flexible_features.cooperativeMatrixTensorAddressing == VK_FALSE ||
      physical.getProperties().apiVersion < VK_API_VERSION_1_3)
    return units;
  units.workgroup_shared_bytes =
      flexible_properties.cooperativeMatrixWorkgroupScopeReservedSharedMemory;
  for (const auto& x : granularities)
    add_once(units.workgroup, unit_of(x, VK_SCOPE_WORKGROUP_KHR), x.workgroupInvocations,
             flexible_properties.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize, units.bfloat16);
  return units;
}

MatrixFeatures::MatrixFeatures(const DeviceLimits& limits)
    : any_(!limits.matrix_shapes.empty()),
      flexible_(!limits.matrix_granularities.empty() || !limits.workgroup_matrices.empty()),
      workgroup_(!limits.workgroup_matrices.empty()),
      bfloat16_(std::ranges::any_of(
                    limits.matrix_shapes,
                    [](const MatrixShape& shape) { return shape.operand == DataType::kBf16; }) ||
                std::ranges::any_of(limits.workgroup_matrices, [](const WorkgroupMatrix& matrix) {
                  return matrix.unit.operand == DataType::kBf16;
                })) {
  matrices_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  matrices_.cooperativeMatrix = VK_TRUE;
  flexible_features_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV;
  flexible_features_.cooperativeMatrixFlexibleDimensions = VK_TRUE;
  flexible_features_.cooperativeMatrixWorkgroupScope = workgroup_ ? VK_TRUE : VK_FALSE;
  flexible_features_.cooperativeMatrixTensorAddressing = workgroup_ ? VK_TRUE : VK_FALSE;
  bfloat16_features_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
  bfloat16_features_.shaderBFloat16Type = VK_TRUE;
  bfloat16_features_.shaderBFloat16CooperativeMatrix = VK_TRUE;
  memory_model_.vulkanMemoryModel = memory_model_.vulkanMemoryModelDeviceScope = VK_TRUE;
}

void MatrixFeatures::append_to(vk::PhysicalDeviceFeatures2& features,
                               std::vector<const char*>& extensions) {
  if (!any_) return;
  const auto append = [&](auto& structure) {
    structure.pNext = std::exchange(features.pNext, &structure);
  };
  extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  append(memory_model_);
  append(matrices_);
  if (flexible_) {
    extensions.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
    append(flexible_features_);
  }
  if (bfloat16_) {
    extensions.push_back(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
    append(bfloat16_features_);
  }
}

}  // namespace rooftile
