#include "runtime/model/gpu/gpu_generation.h"

#include <limits>

#include "core/device_kinds.h"

namespace rooftile {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// "RDNA 2 Instruction Set Architecture", AMD 2020, and "RDNA Architecture", AMD 2019: 256 registers
// a lane; four SIMDs, over which a workgroup spreads, with 1024 registers of 32 lanes each.
constexpr GpuGeneration kRdna2 = {.name = "RDNA 1 and 2",
                                  .multiply_adds = 64,
                                  .instructions = 64,
                                  .matrix_multiply_adds = 0,
                                  .subgroup_size = 64,
                                  .lane_registers = 256,
                                  .subgroup_registers = kNone,
                                  .workgroup_registers = 4.0 * 1024 * 32,
                                  .unit_shared_bytes = kNone,
                                  .fragment_lanes = 0,
                                  .keeps_more = false};
// "RDNA3 Instruction Set Architecture", AMD 2023, VOPD (dual issue) and WMMA (lanes 16
// to 31 repeat the fragments of 0 to 15); "How to accelerate AI applications on RDNA 3 using WMMA",
// AMD GPUOpen 2023: 512 f16 operations a clock and unit. Smaller chips have 1024 registers a SIMD,
// larger ones 1536.
constexpr GpuGeneration kRdna3 = {.name = "RDNA 3",
                                  .multiply_adds = 128,
                                  .instructions = 64,
                                  .matrix_multiply_adds = 256,
                                  .subgroup_size = 64,
                                  .lane_registers = 256,
                                  .subgroup_registers = kNone,
                                  .workgroup_registers = 4.0 * 1024 * 32,
                                  .unit_shared_bytes = kNone,
                                  .fragment_lanes = 16,
                                  .keeps_more = false};
// "AMD Instinct MI200 Instruction Set Architecture", AMD 2022: 256 registers for values a lane, 512
// of 64 lanes a SIMD; "AMD CDNA 2 Architecture", AMD 2021: 1024 f16 operations a clock and unit.
constexpr GpuGeneration kCdna = {.name = "CDNA",
                                 .multiply_adds = 64,
                                 .instructions = 64,
                                 .matrix_multiply_adds = 512,
                                 .subgroup_size = 64,
                                 .lane_registers = 256,
                                 .subgroup_registers = kNone,
                                 .workgroup_registers = 4.0 * 512 * 64,
                                 .unit_shared_bytes = kNone,
                                 .fragment_lanes = 0,
                                 .keeps_more = false};
// "CUDA C++ Programming Guide", compute capabilities 7.5 to 9.0: 255 registers a thread, 65536 a
// block; "NVIDIA Ampere GA102 GPU Architecture", 2021: 128 f32 and 512 dense f16 multiply-adds a
// clock and SM. Turing has half the f32 ("NVIDIA Turing GPU Architecture", 2018), which orders
// kernels alike. The driver gives workgroups 48 KiB of an SM's shared memory (H200, 580.159.04: the
// same kernel takes 506 us with 24,512 bytes and 811 us with 24,640,
// bench/results/nvidia-h200-kernels.md).
constexpr GpuGeneration kNvidiaMatrix = {.name = "Turing and later",
                                         .multiply_adds = 128,
                                         .instructions = 128,
                                         .matrix_multiply_adds = 512,
                                         .subgroup_size = 32,
                                         .lane_registers = 255,
                                         .subgroup_registers = kNone,
                                         .workgroup_registers = 65536,
                                         .unit_shared_bytes = 48 * 1024,
                                         .fragment_lanes = 0,
                                         .keeps_more = false};
// "Introduction to the Xe-HPG Architecture", Intel 2022: 16 vector engines of 8 lanes, matrix
// engines with 64 f16 multiply-adds; 128 registers of 32 bytes a thread ("oneAPI GPU Optimization
// Guide", Intel, small register mode, which Mesa takes).
constexpr GpuGeneration kXeHpg = {.name = "Xe-HPG",
                                  .multiply_adds = 128,
                                  .instructions = 128,
                                  .matrix_multiply_adds = 1024,
                                  .subgroup_size = 8,
                                  .lane_registers = kNone,
                                  .subgroup_registers = 128 * 8,
                                  .workgroup_registers = kNone,
                                  .unit_shared_bytes = kNone,
                                  .fragment_lanes = 0,
                                  .keeps_more = true};
// Mesa replaces a matrix operation by a multiply-add and, on Xe-LPG, .75 conversions for each
// product of a lane (bench/results/gpu-compilers.md).
constexpr GpuGeneration kXeLp = [] {
  GpuGeneration gpu = kXeHpg;
  gpu.name = "Xe-LP and Xe-LPG";
  gpu.matrix_multiply_adds = gpu.multiply_adds / 2;
  return gpu;
}();
// "Intel Xe2 GPU Architecture", Intel 2024: 8 vector engines of 16 lanes, the same rates of a core;
// registers of 64 bytes.
constexpr GpuGeneration kXe2 = {.name = "Xe2",
                                .multiply_adds = 128,
                                .instructions = 128,
                                .matrix_multiply_adds = 1024,
                                .subgroup_size = 16,
                                .lane_registers = kNone,
                                .subgroup_registers = 128 * 16,
                                .workgroup_registers = kNone,
                                .unit_shared_bytes = kNone,
                                .fragment_lanes = 0,
                                .keeps_more = true};

}  // namespace

const GpuGeneration* gpu_generation(const DeviceProfile& device) {
  if (device.kind == DeviceKind::kSoftware) return nullptr;
  const DeviceLimits& limits = device.limits;
  switch (device.vendor_id) {
    case kAmd:
      if (is_amd_cdna(device)) return &kCdna;
      return multiplies_matrices(limits, DataType::kF16) ? &kRdna3 : &kRdna2;
    case kNvidia:
      return &kNvidiaMatrix;
    case kIntel:
      if (emulates_matrix_units(device)) return &kXeLp;
      return limits.min_subgroup_size == 16 ? &kXe2 : &kXeHpg;
    default:
      return nullptr;
  }
}

}  // namespace rooftile
