// A SPIR-V module as another program carries it, and what that must know of it beside the code.
#pragma once

#include <cstdint>
#include <vector>

#include "embed/header/tables.h"
#include "generator/emit.h"

namespace rooftile {

struct EmbeddedShader {
  std::vector<std::uint32_t> code;  ///< Without names and other words for people.
  rte_shader facts = {};
};

/// Compiles the shader, without words for people, and says which features of a device it needs.
/// Throws kCompile, and kInternal for a capability that has no feature here.
EmbeddedShader embedded_shader(const Shader& shader);

}  // namespace rooftile
