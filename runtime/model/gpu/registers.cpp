#include "runtime/model/gpu/registers.h"

#include <algorithm>

#include "generator/layout.h"

namespace rooftile {
namespace {

constexpr double kRegisterBits = 32;
// Addresses, counters and constants.
constexpr double kBesides = 16;
// Kernels that spill are estimated to need .82 of the registers and more: addresses of texel loads
// are not in the estimate.
constexpr double kSureShare = 0.75;

/// Registers of the next tile between its load and its store to shared memory.
double fetched_registers(const Variant& v, const Types& types) {
  const double bits_a = 8.0 * static_cast<double>(bytes_of(types.a));
  const double bits_b = 8 * bytes_per_element_b(types);
  const double bits = (staged_a(v) ? v.tile_m * bits_a : 0) + (staged_b(v) ? v.tile_n * bits_b : 0);
  return bits * k_step(v) * v.dot / local_size(v) / kRegisterBits;
}

/// Registers of the fragments that are loaded ahead of their matrix operations.
double fragment_registers(const Variant& v, const Types& types, const GpuGeneration& gpu) {
  const double lanes = gpu.fragment_lanes > 0 ? gpu.fragment_lanes : v.subgroup_size;
  const double unit_bits = 8.0 * static_cast<double>(bytes_of(unit_type(types)));
  // Sums of steps that share a scale, the fragments of B for these steps and one of A, a
  // scale, and beside addends one and sums of A's rows.
  if (scales_sums(v, types)) {
    const double one = static_cast<double>(v.matrix_m) * v.matrix_n,
                 sums = static_cast<double>(v.subgroup_m) * v.subgroup_n + one,
                 row_sums = static_cast<double>(v.subgroup_m) * v.matrix_n + one,
                 fragments = static_cast<double>(v.subgroup_n) * scale_steps(types) +
                             static_cast<double>(v.matrix_m) * v.matrix_k;
    return (sums + (has_addends(types) ? row_sums : 0) + fragments * unit_bits / kRegisterBits) /
           lanes;
  }
  // All parts of the fragments of A and of one of B, and a sum for each product of two fragments.
  if (splits(v, types, Operand::kB))
    return (static_cast<double>(v.subgroup_m + v.matrix_n) * v.matrix_k *
                parts_of(types, Operand::kB) * unit_bits / kRegisterBits +
            static_cast<double>(v.subgroup_m) * v.matrix_n) /
           lanes;
  const double step = static_cast<double>(v.subgroup_m + v.subgroup_n) * v.matrix_k *
                      static_cast<double>(bytes_of(types.a)) * 8 / kRegisterBits / lanes;
  if (!gpu.keeps_more) return step * (v.stages + 1) / 2;
  const double steps = static_cast<double>(v.tile_k) / (v.matrix_k * v.subgroups_k) + v.stages - 1;
  return step * (2 * steps - 1);
}

/// Registers of the operands of a trip, all of which are loaded before the first multiply-add.
/// Lanes that broadcast A or read it from shared memory hold a part of it each, and words of a
/// quantised B are unpacked where they are multiplied.
double operand_registers(const Variant& v, const Types& types) {
  const bool words = quantized(types) && v.packed_b == Packed::kNo;
  const double a = v.stage == Stage::kSubgroup || shares_a(v) ? 0 : v.reg_m;
  const double trips = words && v.prefetch != Prefetch::kNone ? 2 : 1;
  const double b = trips * v.reg_n * (words ? 8 * bytes_per_element_b(types) / kRegisterBits : 1);
  return v.unroll_k * (a + b);
}

}  // namespace

double needed_registers(const Variant& v, const Types& types, const GpuGeneration& gpu) {
  if (has_workgroup_scope(v)) return 0;
  if (v.family == Family::kMatrix)
    return static_cast<double>(v.subgroup_m) * v.subgroup_n / v.subgroup_size +
           fetched_registers(v, types) + fragment_registers(v, types, gpu) + kBesides;
  const double element = static_cast<double>(8 * element_bytes(types)) / kRegisterBits;
  const double sums = element * v.reg_m * v.reg_n;
  // Beside sums in float32 lie those of the integers that share scales.
  if (v.family == Family::kTiled)
    return sums * (gpu.keeps_more || multiplies_int8(v, types) ? 2 : 1) +
           fetched_registers(v, types) + element * v.stages * (v.reg_m + v.reg_n) + kBesides;
  return sums + element * operand_registers(v, types) + kBesides;
}

double available_registers(const Variant& v, const GpuGeneration& gpu) {
  const double lanes = v.subgroup_size > 0 ? v.subgroup_size : gpu.subgroup_size;
  return std::min({gpu.lane_registers, gpu.subgroup_registers / lanes,
                   gpu.workgroup_registers / local_size(v)});
}

bool surely_fits_registers(const Variant& v, const Types& types, const GpuGeneration& gpu) {
  // The estimate does not count what a driver adds where it emulates matrix operations.
  if (v.family == Family::kMatrix && gpu.matrix_multiply_adds <= gpu.multiply_adds) return false;
  // A compiler may unpack all words of a quantised B of a trip ahead.
  const Types unpacked{.a = types.a, .c = types.c, .sums = types.sums};
  return std::max(needed_registers(v, types, gpu), needed_registers(v, unpacked, gpu)) <=
         kSureShare * available_registers(v, gpu);
}

}  // namespace rooftile
