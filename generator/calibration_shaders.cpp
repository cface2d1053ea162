#include "generator/calibration_shaders.h"

#include <fmt/format.h>

#include <string>

#include "core/hash.h"

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

Shader emit_fma(int local_size, int chains) {
  return with_defines("fma.comp",
                      fmt::format("#define LOCAL_SIZE {}\n#define CHAINS {}\n#define STEPS {}\n",
                                  local_size, chains, kFmaSteps),
                      {.bindings = {BindingKind::kStorageBuffer},
                       .push_constants_bytes = sizeof(FmaPushConstants)});
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
