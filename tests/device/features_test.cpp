// Capabilities of an application's own device depend on the features with which it was created.
#include "runtime/device/physical/features.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

/// All features that the physical device offers.
PhysicalDetails everything() {
  PhysicalDetails details;
  details.full_subgroups = true;
  details.offer.profile.api_version = VK_API_VERSION_1_3;
  DeviceLimits& limits = details.offer.profile.limits;
  limits.subgroup_size = 32;
  limits.min_subgroup_size = 8;
  limits.max_subgroup_size = 64;
  limits.max_workgroup_subgroups = 16;
  limits.subgroup_size_control = limits.float16_arithmetic = limits.int8_arithmetic = true;
  limits.float32_atomic_add = limits.integer_dot_product = limits.float64_arithmetic = true;
  const MatrixShape half = {.m = 16, .n = 16, .k = 16},
                    brain = {.m = 16, .n = 16, .k = 16, .operand = DataType::kBf16};
  limits.matrix_shapes = limits.matrix_granularities = {half, brain};
  limits.workgroup_matrices = {{half, 128}, {brain, 128}};
  return details;
}

struct Left {
  bool size_control, full_subgroups, float16, int8, atomics, dot, float64;
  std::size_t shapes, granularities, workgroup;

  bool operator==(const Left&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Left& x) {
    return out << x.size_control << x.full_subgroups << x.float16 << x.int8 << x.atomics << x.dot
               << x.float64 << ' ' << x.shapes << x.granularities << x.workgroup;
  }
};
Left left(const PhysicalDetails& details) {
  const DeviceLimits& limits = details.offer.profile.limits;
  return {limits.subgroup_size_control,       details.full_subgroups,
          limits.float16_arithmetic,          limits.int8_arithmetic,
          limits.float32_atomic_add,          limits.integer_dot_product,
          limits.float64_arithmetic,          limits.matrix_shapes.size(),
          limits.matrix_granularities.size(), limits.workgroup_matrices.size()};
}
Left left_by(const void* chain) {
  PhysicalDetails details = everything();
  vk::DeviceCreateInfo info;
  info.pNext = chain;
  leave_enabled(details, info);
  return left(details);
}

TEST(Features, WithoutAnyOnlyThePlainDeviceIsLeft) {
  PhysicalDetails details = everything();
  leave_enabled(details, vk::DeviceCreateInfo());
  EXPECT_EQ(left(details), Left{});
  EXPECT_EQ(details.offer.profile.limits.min_subgroup_size, 32u);
  EXPECT_EQ(details.offer.profile.limits.max_subgroup_size, 32u);
}

TEST(Features, EachMissingStructureDisablesItsFeatures) {
  vk::PhysicalDeviceSubgroupSizeControlFeatures sizes(VK_TRUE, VK_FALSE);
  EXPECT_EQ(left_by(&sizes), (Left{.size_control = true}));
  vk::PhysicalDeviceShaderFloat16Int8Features small(VK_FALSE, VK_TRUE);
  EXPECT_EQ(left_by(&small), (Left{.int8 = true}));
  vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT atomics;
  atomics.shaderBufferFloat32AtomicAdd = VK_TRUE;
  EXPECT_EQ(left_by(&atomics), (Left{.atomics = true}));
  vk::PhysicalDeviceShaderIntegerDotProductFeatures dot(VK_TRUE);
  EXPECT_EQ(left_by(&dot), (Left{.dot = true}));
}

TEST(Features, Float64CountsInBothPlacesOfCoreFeatures) {
  vk::PhysicalDeviceFeatures core;
  core.shaderFloat64 = VK_TRUE;
  const vk::PhysicalDeviceFeatures2 in_chain(core);
  EXPECT_EQ(left_by(&in_chain), (Left{.float64 = true}));
  PhysicalDetails details = everything();
  vk::DeviceCreateInfo info;
  info.pEnabledFeatures = &core;
  leave_enabled(details, info);
  EXPECT_EQ(left(details), (Left{.float64 = true}));
}

TEST(Features, StructuresOfVulkanVersionsCount) {
  vk::PhysicalDeviceVulkan13Features newer;
  newer.subgroupSizeControl = newer.computeFullSubgroups = newer.shaderIntegerDotProduct = VK_TRUE;
  vk::PhysicalDeviceVulkan12Features older;
  older.shaderFloat16 = VK_TRUE;
  older.pNext = &newer;
  EXPECT_EQ(left_by(&older),
            (Left{.size_control = true, .full_subgroups = true, .float16 = true, .dot = true}));
}

TEST(Features, MatrixUnitsTakeTheMemoryModel) {
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {};
  matrices.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  matrices.cooperativeMatrix = VK_TRUE;
  EXPECT_EQ(left_by(&matrices), Left{});
  vk::PhysicalDeviceVulkanMemoryModelFeatures model(VK_TRUE);
  model.pNext = &matrices;
  EXPECT_EQ(left_by(&model), (Left{.shapes = 1}));  // bfloat16 has a feature of its own.
  VkPhysicalDeviceShaderBfloat16FeaturesKHR brain = {};
  brain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
  brain.shaderBFloat16Type = brain.shaderBFloat16CooperativeMatrix = VK_TRUE;
  brain.pNext = &model;
  EXPECT_EQ(left_by(&brain), (Left{.shapes = 2}));
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV flexible = {};
  flexible.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV;
  flexible.cooperativeMatrixFlexibleDimensions = VK_TRUE;
  flexible.pNext = &brain;
  EXPECT_EQ(left_by(&flexible), (Left{.shapes = 2, .granularities = 2}));
  flexible.cooperativeMatrixWorkgroupScope = flexible.cooperativeMatrixTensorAddressing = VK_TRUE;
  EXPECT_EQ(left_by(&flexible), (Left{.shapes = 2, .granularities = 2, .workgroup = 2}));
}

TEST(Features, OlderVulkanHasNoMatrixUnits) {
  PhysicalDetails details = everything();
  leave_version(details, VK_API_VERSION_1_2);
  EXPECT_EQ(left(details).workgroup, 0u);
  EXPECT_EQ(left(details).granularities, 2u);
  leave_version(details, VK_API_VERSION_1_1);
  EXPECT_EQ(left(details).shapes, 0u);
  EXPECT_EQ(details.offer.profile.api_version, VK_API_VERSION_1_1);
}

}  // namespace
}  // namespace rooftile
