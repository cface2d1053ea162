// What is known about a device without opening it: its identity, and the limits and features that
// decide which kernels are legal on it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/types.h"

namespace rooftile {

enum class DeviceKind : std::uint8_t { kDiscrete, kIntegrated, kSoftware, kVirtual, kOther };

constexpr const char* name(DeviceKind kind) {
  constexpr std::array kWords = {"discrete", "integrated", "software", "virtual", "other"};
  static_assert(kWords.size() == static_cast<std::size_t>(DeviceKind::kOther) + 1);
  return kWords[static_cast<std::size_t>(kind)];
}

/// A matrix operation of a subgroup's matrix units: m x k times k x n elements of `operand`, with m
/// x n sums.
struct MatrixShape {
  int m = 0, n = 0, k = 0;
  DataType operand = DataType::kF16, sum = DataType::kF32;

  bool operator==(const MatrixShape&) const = default;
};

/// Matrix operations of a whole workgroup with this many invocations: their sides are multiples of
/// those of `unit`.
struct WorkgroupMatrix {
  MatrixShape unit;
  int invocations = 0;

  bool operator==(const WorkgroupMatrix&) const = default;
};

/// The limits that legality rules read, in bytes and counts as Vulkan reports them.
struct DeviceLimits {
  std::uint32_t max_workgroup_invocations = 128;
  std::array<std::uint32_t, 3> max_workgroup_size = {128, 128, 64};
  std::array<std::uint32_t, 3> max_workgroup_count = {65535, 65535, 65535};
  std::uint32_t shared_memory_bytes = 16384;
  std::uint32_t max_push_constants_bytes = 128;
  std::uint64_t max_storage_buffer_range_bytes = 1u << 27;
  std::uint64_t max_texel_buffer_elements = 1u << 16;  // texels, not floats
  std::uint64_t max_memory_allocation_bytes = 1u << 30;
  std::uint32_t storage_buffer_alignment_bytes = 256;  // of the offset of a bound buffer
  std::uint32_t texel_buffer_alignment_bytes = 256;
  std::uint32_t subgroup_size = 1;
  std::uint32_t min_subgroup_size = 1, max_subgroup_size = 1;
  bool subgroup_size_control = false;  // whether a size in [min, max] can be required
  // Where a subgroup size is required; 0: no limit is known.
  std::uint32_t max_workgroup_subgroups = 0;
  bool subgroup_broadcast = false;  // ballot operations in compute shaders
  bool float16_arithmetic = false, int8_arithmetic = false, float64_arithmetic = false;
  // Shapes of the matrix units with subgroup scope, in the driver's order. Empty: the device has
  // none.
  std::vector<MatrixShape> matrix_shapes;
  // Shapes whose multiples are offered as well, up to max_matrix_dimension elements a side.
  std::vector<MatrixShape> matrix_granularities;
  std::uint32_t max_matrix_dimension = 0;
  // Matrices with workgroup scope, on devices whose loads and stores can be addressed as tensors.
  // Sides go up to max_matrix_dimension. Empty: the device has none.
  std::vector<WorkgroupMatrix> workgroup_matrices;
  // The part of a workgroup's shared memory that the driver reserves where a kernel uses matrices
  // with workgroup scope.
  std::uint32_t workgroup_matrix_shared_bytes = 0;
  bool float32_atomic_add = false;  // in storage buffers
  // Packed dot products of 8-bit integers, and whether they are faster than what they replace.
  bool integer_dot_product = false, integer_dot_product_accelerated = false;
  bool texel_buffer_r32 = false, texel_buffer_rgba32 = false;  // uniform texel buffer formats
  // The number of loop trips of one invocation, over all its loops, after which the driver leaves a
  // loop without reporting it. 0: there is no such limit.
  std::uint32_t max_loop_trips = 0;
  std::uint32_t compute_units = 0;  // as reported by the driver; 0: it reports none
  // Host memory whose address is a multiple of this can be imported as a buffer; 0: none can.
  std::uint64_t host_import_alignment_bytes = 0;
  double timestamp_period_ns = 1.0;        // may be fractional
  std::uint32_t timestamp_valid_bits = 0;  // 0: the queue has no timestamps

  bool operator==(const DeviceLimits&) const = default;
};

/// A device with its driver. Two profiles with the same uuid, driver and pipeline_cache_uuid share
/// tuned data.
struct DeviceProfile {
  std::string name;         // as the driver gives it: untrusted text
  std::string device_uuid;  // 32 hex digits
  std::uint32_t vendor_id = 0, device_id = 0, driver_id = 0;
  std::string driver_name;           // "llvmpipe"
  std::string driver_info;           // "Mesa 22.3.6 (LLVM 15.0.6)"
  std::uint32_t driver_version = 0;  // as Vulkan packs it
  std::string pipeline_cache_uuid;   // 32 hex digits
  std::uint32_t api_version = 0;
  DeviceKind kind = DeviceKind::kOther;
  std::uint64_t device_memory_bytes = 0;  // largest device-local heap
  bool unified_memory = false;  // a device-local and host-visible type covers that heap: no staging
  DeviceLimits limits;
};

}  // namespace rooftile
