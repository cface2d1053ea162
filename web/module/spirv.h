// GLSL to SPIR-V by glslang, as shaderc does in the native program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rooftile::web {

/// Compiles a compute shader for Vulkan 1.1 and SPIR-V 1.3, not optimised. Empty: `error` says why.
std::vector<std::uint32_t> compile_glsl(const char* glsl, std::string& error);

}  // namespace rooftile::web
