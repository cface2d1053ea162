#include "generator/calibration_shaders.h"

#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "generator/kernel_defines.h"
#include "generator/templates.h"

namespace rooftile {
namespace {

Shader calibration_shader(std::string_view file, const Defines& defines,
                          std::vector<BindingKind> bindings, std::size_t push_constants_bytes) {
  Shader shader;
  shader.glsl = expand(file, {"Rooftile calibration."}, defines);
  shader.hash = shader_hash("", shader.glsl, shader.optimization);
  shader.interface = {.bindings = std::move(bindings),
                      .push_constants_bytes = static_cast<std::uint32_t>(push_constants_bytes)};
  return shader;
}

Defines numbers(std::initializer_list<std::pair<const char*, int>> values) {
  Defines defines;
  for (const auto& [name, value] : values) defines.emplace_back(name, std::to_string(value));
  return defines;
}

constexpr BindingKind kBuffer = BindingKind::kStorageBuffer;

}  // namespace

std::string_view name(Stream kernel) {
  constexpr std::array<std::string_view, kStreams.size()> kNames = {"copy", "scale", "add",
                                                                    "triad"};
  return kNames[static_cast<std::size_t>(kernel)];
}

Shader emit_stream(Stream kernel, LoadPath load_path, int local_size) {
  const bool texel = load_path == LoadPath::kTexel;
  const BindingKind source = texel ? BindingKind::kTexelRgba32 : kBuffer;
  Defines defines = numbers({{"LOCAL_SIZE", local_size}, {"TEXEL", texel ? 1 : 0}});
  set_define(defines, "STREAM", in_capitals(name(kernel)));
  return calibration_shader("calibrate/stream.comp", defines, {source, source, kBuffer},
                            sizeof(StreamPushConstants));
}

Shader emit_read(LoadPath load_path, int local_size, ReadOrder order) {
  const bool texel = load_path == LoadPath::kTexel;
  return calibration_shader("calibrate/read.comp",
                            numbers({{"LOCAL_SIZE", local_size},
                                     {"TEXEL", texel ? 1 : 0},
                                     {"PIECES", order == ReadOrder::kPieces ? 1 : 0}}),
                            {texel ? BindingKind::kTexelRgba32 : kBuffer, kBuffer},
                            sizeof(ReadPushConstants));
}

Shader emit_fma(DataType type, int local_size, int chains, Trip trip) {
  const bool dot = type == DataType::kI32;
  Defines defines = numbers({{"LOCAL_SIZE", local_size},
                             {"CHAINS", chains},
                             {"STEPS", kFmaSteps},
                             {"SYNCHRONISED", trip == Trip::kSynchronised ? 1 : 0},
                             {"DOT", dot ? 4 : 1},
                             {"WEB", 0}});
  set_define(defines, "TYPE", dot ? "I8" : "F32");
  define_elements(defines, type);
  return calibration_shader("calibrate/fma.comp", defines, {kBuffer}, sizeof(FmaPushConstants));
}

Shader emit_matrix_peak(const MatrixShape& shape, int subgroup_size, int local_size, int chains) {
  Defines defines = numbers({{"LOCAL_SIZE", local_size},
                             {"SUBGROUP_SIZE", subgroup_size},
                             {"CHAINS", chains},
                             {"STEPS", kMatrixPeakSteps},
                             {"SCALES_SUMS", 0}});
  define_matrix(defines, shape);
  Shader shader = calibration_shader("calibrate/matrix_peak.comp", defines, {kBuffer},
                                     sizeof(MatrixPeakPushConstants));
  shader.interface.subgroup_size = static_cast<std::uint32_t>(subgroup_size);
  shader.matrix_units = true;
  return shader;
}

Shader emit_shared(int local_size) {
  return calibration_shader("calibrate/shared.comp",
                            numbers({{"LOCAL_SIZE", local_size}, {"UNROLL", kSharedUnroll}}),
                            {kBuffer}, sizeof(SharedPushConstants));
}

Shader emit_loads(LoadPath load_path, int width, int local_size) {
  const bool texel = load_path == LoadPath::kTexel;
  const BindingKind texel_kind = width == 4 ? BindingKind::kTexelRgba32 : BindingKind::kTexelR32;
  return calibration_shader("calibrate/loads.comp",
                            numbers({{"LOCAL_SIZE", local_size},
                                     {"TEXEL", texel ? 1 : 0},
                                     {"WIDTH", width},
                                     {"UNROLL", kLoadsUnroll}}),
                            {texel ? texel_kind : kBuffer, kBuffer}, sizeof(LoadsPushConstants));
}

Shader emit_stores(int width, int local_size) {
  return calibration_shader(
      "calibrate/stores.comp",
      numbers({{"LOCAL_SIZE", local_size}, {"WIDTH", width}, {"UNROLL", kStoresUnroll}}), {kBuffer},
      sizeof(StoresPushConstants));
}

Shader emit_c_stores(int width, int local_size) {
  Defines defines =
      numbers({{"LOCAL_SIZE", local_size}, {"VECTOR_WIDTH_C", width}, {"UNROLL", kStoresUnroll}});
  set_define(defines, "RESULT_C", vector_type(DataType::kF32, width));
  set_define(defines, "REDUCTION", "ORDERED");
  define_result(defines, DataType::kF32, {}, Dialect::kVulkan);
  return calibration_shader("calibrate/c_stores.comp", defines, {kBuffer},
                            sizeof(CStoresPushConstants));
}

Shader emit_chase() {
  return calibration_shader("calibrate/chase.comp",
                            numbers({{"LOCAL_SIZE", 1}, {"UNROLL", kChaseUnroll}}),
                            {kBuffer, kBuffer}, sizeof(ChasePushConstants));
}

Shader emit_lanes(int local_size) {
  return calibration_shader("calibrate/lanes.comp", numbers({{"LOCAL_SIZE", local_size}}),
                            {kBuffer}, sizeof(LanesPushConstants));
}

Shader emit_barriers(int local_size) {
  return calibration_shader("calibrate/barriers.comp", numbers({{"LOCAL_SIZE", local_size}}),
                            {kBuffer}, sizeof(BarriersPushConstants));
}

}  // namespace rooftile
