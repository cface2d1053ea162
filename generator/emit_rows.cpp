#include "generator/emit_rows.h"

#include <string>

#include "generator/templates.h"

namespace rooftile {
namespace {

Shader rows_shader(std::string_view file, Defines defines, std::size_t buffers,
                   std::size_t push_constants_bytes) {
  Shader shader;
  defines.emplace_back("LOCAL_SIZE", std::to_string(kRowsLocalSize));
  shader.glsl = expand(file, {"Rooftile: an operation between the GEMMs of a list."}, defines);
  shader.hash = shader_hash("", shader.glsl, shader.optimization);
  shader.interface = {.bindings = std::vector<BindingKind>(buffers, BindingKind::kStorageBuffer),
                      .push_constants_bytes = static_cast<std::uint32_t>(push_constants_bytes)};
  return shader;
}

}  // namespace

Shader emit_softmax() { return rows_shader("softmax.comp", {}, 2, sizeof(SoftmaxPushConstants)); }

Shader emit_multiply(Activation activation) {
  return rows_shader("multiply.comp",
                     {{"ACTIVATION", std::to_string(static_cast<int>(activation))}}, 3,
                     sizeof(MultiplyPushConstants));
}

Shader emit_top_k() { return rows_shader("top_k.comp", {}, 3, sizeof(TopKPushConstants)); }

Shader emit_group_tokens() {
  return rows_shader("group_tokens.comp", {}, 5, sizeof(GroupTokensPushConstants));
}

Shader emit_gather() { return rows_shader("gather.comp", {}, 4, sizeof(GatherPushConstants)); }

Shader emit_combine() { return rows_shader("combine.comp", {}, 6, sizeof(CombinePushConstants)); }

}  // namespace rooftile
