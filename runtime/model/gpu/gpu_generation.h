// What vendors publish of a generation of GPUs, and what its driver's compiler makes of kernels, as
// far as the order of candidates depends on them. Pure functions.
#pragma once

#include <string_view>

#include "core/device_profile.h"

namespace rooftile {

/// A row of the table in gpu_generation.cpp, which has the sources. Registers have 32 bits; a limit
/// of infinity is none.
struct GpuGeneration {
  std::string_view name;
  // Of a compute unit in a clock.
  double multiply_adds;         ///< f32.
  double instructions;          ///< Of lanes: fewer where one may hold two multiply-adds.
  double matrix_multiply_adds;  ///< f16 with f32 sums; 0: no matrix units.
  int subgroup_size;            ///< Which the driver takes where a kernel requires none.
  double lane_registers;        ///< That an invocation can address.
  double subgroup_registers;    ///< That the lanes of a subgroup divide among them.
  double workgroup_registers;   ///< That the invocations of a workgroup divide among them.
  double unit_shared_bytes;     ///< That the workgroups of a compute unit divide, where measured.
  /// Lanes over which a fragment of an operand of a matrix operation is spread, the others hold
  /// copies; 0: all lanes.
  int fragment_lanes;
  /// Whether the compiler keeps the sums of blocks of registers twice, and loads the fragments of a
  /// whole tile ahead of its matrix operations.
  bool keeps_more;
};

/// The generation of a GPU, by the features that its driver reports. Null for software devices and
/// for vendors without a row.
const GpuGeneration* gpu_generation(const DeviceProfile& device);

}  // namespace rooftile
