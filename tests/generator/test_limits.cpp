#include "test_limits.h"

#include <tuple>

namespace rooftile {

DeviceLimits minimum_limits() { return {}; }

DeviceLimits lavapipe_limits() {
  return {.max_workgroup_invocations = 1024,
          .max_workgroup_size = {1024, 1024, 1024},
          .shared_memory_bytes = 32768,
          .max_texel_buffer_elements = 1u << 27,
          .max_memory_allocation_bytes = 1u << 31,
          .subgroup_size = 8,
          .min_subgroup_size = 8,
          .max_subgroup_size = 8,
          .subgroup_broadcast = true,
          .float16_arithmetic = true,
          .float64_arithmetic = true,
          .float32_atomic_add = true,
          .integer_dot_product = true,
          .texel_buffer_r32 = true,
          .texel_buffer_rgba32 = true,
          .max_loop_trips = 65535};
}

DeviceLimits discrete_limits() {
  DeviceLimits limits = lavapipe_limits();
  limits.max_loop_trips = 0;
  limits.max_workgroup_count[0] = 0x7fffffff;
  limits.shared_memory_bytes = 49152;
  limits.max_storage_buffer_range_bytes = 0xffffffff;
  limits.subgroup_size = limits.min_subgroup_size = limits.max_subgroup_size = 32;
  return limits;
}

DeviceLimits matrix_limits() {
  DeviceLimits limits = discrete_limits();
  limits.int8_arithmetic = true;
  using enum DataType;
  limits.matrix_shapes = {{16, 16, 16, kF16, kF16}, {16, 16, 16, kF16, kF32},
                          {16, 8, 16, kF16, kF32},  {16, 16, 16, kBf16, kF32},
                          {16, 8, 16, kBf16, kF32}, {16, 16, 32, kI8, kI32},
                          {16, 16, 32, kU8, kI32}};
  return limits;
}

DeviceLimits workgroup_matrix_limits() {
  DeviceLimits limits = matrix_limits();
  using enum DataType;
  for (const auto& [k, operand, sum] : {std::tuple{16, kF16, kF16},
                                        {16, kF16, kF32},
                                        {16, kBf16, kF32},
                                        {32, kI8, kI32},
                                        {32, kU8, kI32}}) {
    const MatrixShape narrow = {32, 16, k, operand, sum}, square = {32, 32, k, operand, sum};
    limits.workgroup_matrices.push_back({narrow, 128});
    limits.workgroup_matrices.push_back({square, 256});
  }
  limits.max_matrix_dimension = 256;
  limits.workgroup_matrix_shared_bytes = 16384;
  return limits;
}

DeviceLimits variable_limits() {
  DeviceLimits limits = discrete_limits();
  limits.shared_memory_bytes = 65536;
  limits.subgroup_size = limits.max_subgroup_size = 64;
  limits.subgroup_size_control = true;
  return limits;
}

DeviceProfile profile_of(DeviceKind kind, const DeviceLimits& limits) {
  DeviceProfile profile;
  profile.kind = kind;
  profile.limits = limits;
  return profile;
}

std::vector<Signature> all_signatures() {
  std::vector<Signature> signatures;
  for (Transpose a : {Transpose::kNo, Transpose::kYes})
    for (Transpose b : {Transpose::kNo, Transpose::kYes}) signatures.push_back({{}, a, b});
  return signatures;
}

Variant naive_point() { return parse_variant("family=naive tile_m=8 tile_n=16"); }

Variant register_point() {
  return parse_variant(
      "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 vector_width_a=4 vector_width_b=4 "
      "unroll_k=4 raster=column");
}

Variant tiled_point() {
  return parse_variant(
      "family=tiled tile_m=64 tile_n=32 tile_k=16 reg_m=4 reg_n=4 vector_width_a=4 "
      "vector_width_b=4 stage=shared stages=2 shared_pad=4 unroll_k=8");
}

Variant matrix_point() {
  return parse_variant(
      "family=matrix tile_m=64 tile_n=64 tile_k=32 subgroup_m=32 subgroup_n=32 matrix_m=16 "
      "matrix_n=16 matrix_k=16 unroll_k=16 vector_width_a=4 vector_width_b=4 stage=shared "
      "shared_pad=8 subgroup_size=32");
}

Variant workgroup_matrix_point() {
  return parse_variant(
      "family=matrix scope=workgroup tile_m=128 tile_n=128 tile_k=64 subgroup_m=32 subgroup_n=64 "
      "matrix_m=128 matrix_n=128 matrix_k=64 vector_width_a=4 vector_width_b=4 load_path_a=direct "
      "load_path_b=direct unroll_k=64 subgroup_size=32");
}

Variant vector_point() {
  return parse_variant(
      "family=vector tile_m=4 tile_n=16 tile_k=32 reg_m=4 reg_n=2 vector_width_a=4 "
      "vector_width_b=4 "
      "stage=shared unroll_k=4");
}

Variant broadcast_point() {
  return parse_variant(
      "family=broadcast tile_m=16 tile_n=64 reg_m=16 reg_n=8 vector_width_a=4 vector_width_b=4 "
      "load_path_a=texel load_path_b=texel stage=subgroup unroll_k=8 packed_a=yes packed_b=yes "
      "raster=column subgroup_size=8");
}

Variant with(Variant v, const std::string& parameter, const std::string& value) {
  set_parameter(v, parameter, value);
  return v;
}

Variant changed(const Variant& from, const std::string& changes) {
  Variant v = from;
  for (const auto& [parameter, value] : parameters(parse_variant(changes)))
    if (changes.find(parameter + "=") != std::string::npos) set_parameter(v, parameter, value);
  return v;
}

std::string reason(const Variant& v, const DeviceLimits& limits) {
  return illegal_reason(v, limits).value_or("");
}

std::string reason(const Variant& v, const DeviceLimits& limits, const Problem& p,
                   const Placement& placement) {
  return illegal_reason(v, limits, p, placement).value_or("");
}

}  // namespace rooftile
