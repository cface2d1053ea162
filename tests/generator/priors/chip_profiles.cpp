#include "tests/generator/priors/chip_profiles.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <stdexcept>

namespace rooftile {
namespace {

using enum DataType;

constexpr std::uint32_t kNvidia = 0x10de, kAmd = 0x1002, kIntel = 0x8086;

struct Shape {
  int m, n, k;
};

/// These shapes for half precision, which is summed in half precision as well where `half_sums`,
/// and for both kinds of 8-bit integers.
std::vector<MatrixShape> shapes_of(std::initializer_list<Shape> halves, bool half_sums,
                                   std::initializer_list<Shape> bytes) {
  std::vector<MatrixShape> all;
  for (const auto& [m, n, k] : halves) {
    if (half_sums) all.push_back({m, n, k, kF16, kF16});
    all.push_back({m, n, k, kF16, kF32});
  }
  for (const DataType operand : {kU8, kI8})
    for (const auto& [m, n, k] : bytes) all.push_back({m, n, k, operand, kI32});
  return all;
}

struct Chip {
  std::string name;
  std::uint32_t vendor_id;
  DeviceKind kind;
  std::uint32_t usual_lanes, least_lanes, most_lanes, shared_bytes;
  std::uint64_t range_bytes, texels, allocation_bytes;
  bool atomics;
  std::vector<MatrixShape> shapes;
  std::uint32_t device_id = 0;  // where it tells chips apart
};

DeviceProfile profile(const Chip& chip) {
  DeviceProfile d;
  d.name = chip.name;
  d.vendor_id = chip.vendor_id;
  d.kind = chip.kind;
  d.device_id = chip.device_id;
  d.limits = {.max_workgroup_invocations = 1024,
              .max_workgroup_size = {1024, 1024, 64},
              .shared_memory_bytes = chip.shared_bytes,
              .max_storage_buffer_range_bytes = chip.range_bytes,
              .max_texel_buffer_elements = chip.texels,
              .max_memory_allocation_bytes = chip.allocation_bytes,
              .subgroup_size = chip.usual_lanes,
              .min_subgroup_size = chip.least_lanes,
              .max_subgroup_size = chip.most_lanes,
              .subgroup_size_control = chip.least_lanes != chip.most_lanes,
              .subgroup_broadcast = true,
              .float16_arithmetic = true,
              .int8_arithmetic = true,
              .float64_arithmetic = true,
              .matrix_shapes = chip.shapes,
              .float32_atomic_add = chip.atomics,
              .integer_dot_product = true,
              .integer_dot_product_accelerated = true,
              .texel_buffer_r32 = true,
              .texel_buffer_rgba32 = true};
  return d;
}

}  // namespace

std::vector<DeviceProfile> chip_profiles() {
  constexpr std::uint64_t kAll = 0xffffffff, kTwoGiB = 1u << 31, kFourGiB = 1ull << 32;
  constexpr std::uint32_t kKiB = 1024;
  const std::vector<MatrixShape> rdna3 = shapes_of({{16, 16, 16}}, true, {{16, 16, 16}});
  const std::vector<MatrixShape> turing = shapes_of({{16, 16, 16}, {16, 8, 16}, {16, 8, 8}}, true,
                                                    {{16, 16, 32}, {16, 8, 32}, {8, 8, 16}});
  const std::vector<MatrixShape> ampere =
      shapes_of({{16, 16, 16}, {16, 8, 16}, {16, 8, 8}}, true,
                {{16, 16, 32}, {16, 8, 32}, {16, 8, 16}, {8, 8, 16}});
  const std::vector<MatrixShape> xe = shapes_of({{8, 8, 16}}, false, {{8, 8, 32}});
  const auto discrete = DeviceKind::kDiscrete, integrated = DeviceKind::kIntegrated;
  const std::array chips = {
      Chip{"NAVI21", kAmd, discrete, 64, 32, 64, 64 * kKiB, kAll, kAll, kAll - 3, false, {}},
      Chip{"NAVI31", kAmd, discrete, 64, 32, 64, 64 * kKiB, kAll, kAll, kAll - 3, true, rdna3},
      Chip{"GFX1151", kAmd, integrated, 64, 32, 64, 64 * kKiB, kAll, kAll, kAll - 3, true, rdna3},
      Chip{"MI200", kAmd, integrated, 64, 64, 64, 64 * kKiB, kAll, kAll, kAll - 3, false, {}},
      Chip{"172", kNvidia, discrete, 32, 32, 32, 48 * kKiB, kTwoGiB, 1u << 27, kTwoGiB, false,
           ampere},
      Chip{"162", kNvidia, discrete, 32, 32, 32, 48 * kKiB, kTwoGiB, 1u << 27, kTwoGiB, false,
           turing},
      Chip{"dg2", kIntel, discrete, 32, 8, 32, 64 * kKiB, kAll, 1u << 27, kFourGiB, true, xe,
           0x5690},
      Chip{"bmg", kIntel, discrete, 32, 16, 32, 128 * kKiB, kAll, 1u << 27, kFourGiB, true,
           shapes_of({{8, 16, 16}}, false, {{8, 16, 32}}), 0xe202},
      Chip{"tgl", kIntel, integrated, 32, 8, 32, 64 * kKiB, kTwoGiB, 1u << 27, kTwoGiB, false, xe,
           0x9a49},
      Chip{"mtl", kIntel, integrated, 32, 8, 32, 64 * kKiB, kTwoGiB, 1u << 27, kTwoGiB, true, xe,
           0x7d60},
      Chip{"arl-h", kIntel, integrated, 32, 8, 32, 64 * kKiB, kTwoGiB, 1u << 27, kTwoGiB, true, xe,
           0x7d51}};
  std::vector<DeviceProfile> profiles;
  for (const Chip& chip : chips) profiles.push_back(profile(chip));
  return profiles;
}

DeviceProfile chip_profile(const std::string& name) {
  const std::vector<DeviceProfile> all = chip_profiles();
  const auto found = std::ranges::find(all, name, &DeviceProfile::name);
  if (found == all.end()) throw std::invalid_argument(name);
  return *found;
}

}  // namespace rooftile
