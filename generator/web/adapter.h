// The limits and features of a WebGPU adapter, converted to the DeviceLimits of the legality rules.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/device_profile.h"

namespace rooftile {

/// Limits and features of a WebGPU adapter by their names in WebGPU, in bytes and counts; the
/// defaults are what every adapter has.
struct WebGpuAdapter {
  std::uint32_t max_compute_invocations_per_workgroup = 256;
  std::array<std::uint32_t, 3> max_compute_workgroup_size = {256, 256, 64};  // x, y, z
  std::uint32_t max_compute_workgroups_per_dimension = 65535;
  std::uint32_t max_compute_workgroup_storage_size = 16384;
  std::uint64_t max_storage_buffer_binding_size = std::uint64_t{1} << 27;
  std::uint64_t max_buffer_size = std::uint64_t{1} << 28;
  std::uint32_t min_storage_buffer_offset_alignment = 256;
  bool shader_f16 = false;  // feature shader-f16
  bool subgroups = false;   // feature subgroups
  std::uint32_t subgroup_min_size = 4, subgroup_max_size = 128;
  // WGSL's packed_4x8_integer_dot_product, a language feature of the browser.
  bool packed_4x8_integer_dot_product = false;
};

/// The limits with which illegal_reason() says whether a kernel can be emitted for
/// Dialect::kWeb and run by this adapter. WebGPU has no texel buffers, no float atomics and no
/// control of the subgroup size: kernels with a subgroup_size are legal where all subgroups have
/// it.
DeviceLimits webgpu_limits(const WebGpuAdapter& adapter);

/// PCI number of a vendor (core/device_kinds.h) by its name in GPUAdapterInfo.vendor; 0: unknown.
std::uint32_t webgpu_vendor_id(std::string_view name);

}  // namespace rooftile
