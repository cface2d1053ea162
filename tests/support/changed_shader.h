// A shader with a planted fault.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "generator/emit.h"

namespace rooftile {

/// Returns the shader with other text at the first place of `from`. Where it has no such place, it
/// throws, which fails the test.
inline Shader changed(Shader shader, std::string_view from, std::string_view to) {
  const std::size_t at = shader.glsl.find(from);
  if (at == std::string::npos)
    throw std::runtime_error("'" + std::string(from) +
                             "' is not in the shader: the change needs an update");
  shader.glsl.replace(at, from.size(), to);
  return shader;
}

}  // namespace rooftile
