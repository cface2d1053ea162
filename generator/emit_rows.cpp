#include "generator/emit_rows.h"

#include <string>

#include "generator/templates.h"

namespace rooftile {
namespace {

Shader rows_shader(std::string_view file, const Defines& defines, std::size_t buffers,
                   std::size_t push_constants_bytes) {
  Shader shader;
  shader.glsl = expand(file, {"Rooftile: an operation between the GEMMs of a list."}, defines, {});
  shader.hash = shader_hash("", shader.glsl, shader.optimization);
  shader.interface = {.bindings = std::vector<BindingKind>(buffers, BindingKind::kStorageBuffer),
                      .push_constants_bytes = static_cast<std::uint32_t>(push_constants_bytes)};
  return shader;
}

}  // namespace

Shader emit_softmax() {
  return rows_shader("softmax.comp", {{"LOCAL_SIZE", std::to_string(kRowsLocalSize)}}, 2,
                     sizeof(SoftmaxPushConstants));
}

Shader emit_multiply(Activation activation) {
  return rows_shader("multiply.comp",
                     {{"LOCAL_SIZE", std::to_string(kRowsLocalSize)},
                      {"ACTIVATION", std::to_string(static_cast<int>(activation))}},
                     3, sizeof(MultiplyPushConstants));
}

}  // namespace rooftile
