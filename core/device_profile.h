// What is known of a device without opening it: identity, limits and features that decide which
// kernels are legal.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/types.h"

namespace rooftile {

enum class DeviceKind : std::uint8_t { kDiscrete, kIntegrated, kSoftware, kVirtual, kOther };

constexpr const char* name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kDiscrete:
      return "discrete";
    case DeviceKind::kIntegrated:
      return "integrated";
    case DeviceKind::kSoftware:
      return "software";
    case DeviceKind::kVirtual:
      return "virtual";
    case DeviceKind::kOther:
      return "other";
  }
  return "other";
}

/// What a subgroup's matrix units multiply at once: m x k and k x n of `operand` to sums m x n.
struct MatrixShape {
  int m = 0, n = 0, k = 0;
  DataType operand = DataType::kF16, sum = DataType::kF32;

  bool operator==(const MatrixShape&) const = default;
};

/// What the matrix units of a whole workgroup of so many invocations multiply: multiples of `unit`.
struct WorkgroupMatrix {
  MatrixShape unit;
  int invocations = 0;

  bool operator==(const WorkgroupMatrix&) const = default;
};

/// Limits that legality rules read. Bytes and counts as Vulkan reports them.
struct DeviceLimits {
  std::uint32_t max_workgroup_invocations = 128;
  std::array<std::uint32_t, 3> max_workgroup_size = {128, 128, 64};
  std::array<std::uint32_t, 3> max_workgroup_count = {65535, 65535, 65535};
  std::uint32_t shared_memory_bytes = 16384;
  std::uint32_t max_push_constants_bytes = 128;
  std::uint64_t max_storage_buffer_range_bytes = 1u << 27;
  std::uint64_t max_texel_buffer_elements = 1u << 16;  // texels, not floats
  std::uint64_t max_memory_allocation_bytes = 1u << 30;
  std::uint32_t storage_buffer_alignment_bytes = 256;  // of a bound offset
  std::uint32_t texel_buffer_alignment_bytes = 256;
  std::uint32_t subgroup_size = 1;
  std::uint32_t min_subgroup_size = 1, max_subgroup_size = 1;
  bool subgroup_size_control = false;         // a size in [min, max] can be required
  std::uint32_t max_workgroup_subgroups = 0;  // where a size is required; 0: no limit is known
  bool subgroup_broadcast = false;            // ballot operations in compute shaders
  bool float16_arithmetic = false, int8_arithmetic = false;
  // Of matrix units, for the scope of a subgroup; in the driver's order. Empty: there are none.
  std::vector<MatrixShape> matrix_shapes;
  // Shapes whose multiples, up to so many elements a side, are offered as well.
  std::vector<MatrixShape> matrix_granularities;
  std::uint32_t max_matrix_dimension = 0;
  // For the scope of a workgroup, where loads and stores can be addressed as tensors; sides up to
  // max_matrix_dimension. Empty: there are none.
  std::vector<WorkgroupMatrix> workgroup_matrices;
  // Of a workgroup's shared memory, what the driver takes for itself where it uses any of them.
  std::uint32_t workgroup_matrix_shared_bytes = 0;
  bool float32_atomic_add = false;  // in storage buffers
  // Packed dot products of 8-bit integers, and whether they are faster than what they replace.
  bool integer_dot_product = false, integer_dot_product_accelerated = false;
  bool texel_buffer_r32 = false, texel_buffer_rgba32 = false;  // uniform texel buffer formats
  // Trips of all loops of one invocation together; the driver leaves them silently after that many.
  // 0: no limit.
  std::uint32_t max_loop_trips = 0;
  std::uint32_t compute_units = 0;  // that the driver tells of; 0: it tells nothing
  // Host memory at multiples of so many bytes can be bound as a buffer's; 0: none can.
  std::uint64_t host_import_alignment_bytes = 0;
  double timestamp_period_ns = 1.0;        // may be fractional
  std::uint32_t timestamp_valid_bits = 0;  // 0: the queue has no timestamps
};

/// Same uuid, driver and pipeline_cache_uuid: tuned data of one is the other's.
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
