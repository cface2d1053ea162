#include "generator/calibration_shaders.h"

#include <fmt/format.h>

#include <string>

#include "core/hash.h"
#include "generator/matrix_types.h"
#include "generator/templates.h"

namespace rooftile {
namespace {

// Defines go behind #version, which has to come first.
Shader with_defines(std::string_view file, const std::string& defines, ShaderInterface interface) {
  const std::string_view text = template_text(file);
  const std::size_t line_end = text.find('\n') + 1;
  Shader shader;
  shader.glsl = fmt::format("{}{}{}", text.substr(0, line_end), defines, text.substr(line_end));
  shader.hash = hash_hex(shader.glsl);
  shader.interface = std::move(interface);
  return shader;
}

/// The same for a template with includes. Binding 0: a storage buffer.
Shader expanded(std::string_view file, const std::string& what, const Defines& defines,
                const Includes& includes, std::size_t push_constants_bytes) {
  Shader shader;
  shader.glsl = expand(file, {fmt::format("Rooftile calibration: {}.", what)}, defines, includes);
  shader.hash = hash_hex(shader.glsl);
  shader.interface = {.bindings = {BindingKind::kStorageBuffer},
                      .push_constants_bytes = static_cast<std::uint32_t>(push_constants_bytes)};
  return shader;
}

}  // namespace

Shader emit_stream(LoadPath load_path, int local_size) {
  const bool texel = load_path == LoadPath::kTexel;
  const BindingKind source = texel ? BindingKind::kTexelRgba32 : BindingKind::kStorageBuffer;
  return with_defines(
      "stream.comp",
      fmt::format("#define LOCAL_SIZE {}\n#define TEXEL {}\n", local_size, texel ? 1 : 0),
      {.bindings = {source, source, BindingKind::kStorageBuffer},
       .push_constants_bytes = sizeof(StreamPushConstants)});
}

Shader emit_read(LoadPath load_path, int local_size) {
  const bool texel = load_path == LoadPath::kTexel;
  return with_defines(
      "read.comp",
      fmt::format("#define LOCAL_SIZE {}\n#define TEXEL {}\n", local_size, texel ? 1 : 0),
      {.bindings = {texel ? BindingKind::kTexelRgba32 : BindingKind::kStorageBuffer,
                    BindingKind::kStorageBuffer},
       .push_constants_bytes = sizeof(ReadPushConstants)});
}

Shader emit_fma(DataType type, int local_size, int chains) {
  Includes includes;
  includes["elements_f32.glsl"] = fmt::format("elements_{}.glsl", name(type));
  if (type == DataType::kI32) includes["product.glsl"] = "product_dot.glsl";
  return expanded("fma.comp", fmt::format("multiply-adds of {}", name(type)),
                  {{"LOCAL_SIZE", std::to_string(local_size)},
                   {"CHAINS", std::to_string(chains)},
                   {"STEPS", std::to_string(kFmaSteps)}},
                  includes, sizeof(FmaPushConstants));
}

Shader emit_matrix_peak(const MatrixShape& shape, int subgroup_size, int local_size, int chains) {
  Defines defines = {{"LOCAL_SIZE", std::to_string(local_size)},
                     {"SUBGROUP_SIZE", std::to_string(subgroup_size)},
                     {"CHAINS", std::to_string(chains)},
                     {"STEPS", std::to_string(kMatrixPeakSteps)}};
  Includes includes;
  describe_matrix(defines, includes, shape);
  Shader shader =
      expanded("matrix_peak.comp",
               fmt::format("{}x{}x{} of {}", shape.m, shape.n, shape.k, name(shape.operand)),
               defines, includes, sizeof(MatrixPeakPushConstants));
  shader.interface.subgroup_size = static_cast<std::uint32_t>(subgroup_size);
  shader.matrix_units = true;
  return shader;
}

Shader emit_shared(int local_size) {
  return with_defines(
      "shared.comp",
      fmt::format("#define LOCAL_SIZE {}\n#define UNROLL {}\n", local_size, kSharedUnroll),
      {.bindings = {BindingKind::kStorageBuffer},
       .push_constants_bytes = sizeof(SharedPushConstants)});
}

Shader emit_loads(LoadPath load_path, int width, int local_size) {
  const bool texel = load_path == LoadPath::kTexel;
  const BindingKind texel_kind = width == 4 ? BindingKind::kTexelRgba32 : BindingKind::kTexelR32;
  return with_defines(
      "loads.comp",
      fmt::format("#define LOCAL_SIZE {}\n#define TEXEL {}\n#define WIDTH {}\n#define UNROLL {}\n",
                  local_size, texel ? 1 : 0, width, kLoadsUnroll),
      {.bindings = {texel ? texel_kind : BindingKind::kStorageBuffer, BindingKind::kStorageBuffer},
       .push_constants_bytes = sizeof(LoadsPushConstants)});
}

Shader emit_barriers(int local_size) {
  return with_defines("barriers.comp", fmt::format("#define LOCAL_SIZE {}\n", local_size),
                      {.bindings = {BindingKind::kStorageBuffer},
                       .push_constants_bytes = sizeof(BarriersPushConstants)});
}

}  // namespace rooftile
