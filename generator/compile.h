#pragma once

#include <cstdint>
#include <vector>

#include "generator/emit.h"

namespace rooftile {

/// Compiles GLSL to SPIR-V for Vulkan 1.1 (SPIR-V 1.3), or for the later versions that matrix units
/// need. Throws kCompile with the compiler's messages. Thread-safe.
std::vector<std::uint32_t> compile(const Shader& shader);

}  // namespace rooftile
