#include "generator/web/adapter.h"

#include <algorithm>
#include <iterator>

#include "core/device_kinds.h"

namespace rooftile {
namespace {

// Parameters are a uniform buffer, which no kernel's parameters exceed: WebGPU guarantees 64 KiB.
constexpr std::uint32_t kUniformBytes = 65536;

struct Vendor {
  std::string_view name;
  std::uint32_t id;
};
constexpr Vendor kVendors[] = {{"amd", kAmd},       {"apple", kApple},      {"arm", kArm},
                               {"google", 0x1ae0},  {"intel", kIntel},      {"mesa", 0x10005},
                               {"nvidia", kNvidia}, {"qualcomm", kQualcomm}};

}  // namespace

std::uint32_t webgpu_vendor_id(std::string_view name) {
  const auto* const known = std::find_if(std::begin(kVendors), std::end(kVendors),
                                         [&](const Vendor& vendor) { return vendor.name == name; });
  return known == std::end(kVendors) ? 0 : known->id;
}

DeviceLimits webgpu_limits(const WebGpuAdapter& adapter) {
  const std::uint32_t groups = adapter.max_compute_workgroups_per_dimension;
  const bool one_size = adapter.subgroups && adapter.subgroup_min_size == adapter.subgroup_max_size;
  const std::uint32_t lanes = one_size ? adapter.subgroup_min_size : 1;
  return {.max_workgroup_invocations = adapter.max_compute_invocations_per_workgroup,
          .max_workgroup_size = adapter.max_compute_workgroup_size,
          .max_workgroup_count = {groups, groups, groups},
          .shared_memory_bytes = adapter.max_compute_workgroup_storage_size,
          .max_push_constants_bytes = kUniformBytes,
          .max_storage_buffer_range_bytes = adapter.max_storage_buffer_binding_size,
          .max_texel_buffer_elements = 0,
          .max_memory_allocation_bytes = adapter.max_buffer_size,
          .storage_buffer_alignment_bytes = adapter.min_storage_buffer_offset_alignment,
          .subgroup_size = lanes,
          .min_subgroup_size = lanes,
          .max_subgroup_size = lanes,
          .subgroup_broadcast = one_size,
          .float16_arithmetic = adapter.shader_f16,
          .integer_dot_product = adapter.packed_4x8_integer_dot_product,
          .integer_dot_product_accelerated = adapter.packed_4x8_integer_dot_product};
}

}  // namespace rooftile
