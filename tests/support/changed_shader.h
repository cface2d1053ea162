// Shaders with planted faults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"
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

/// Stores SPIR-V in a cache under the name of this shader, with a valid checksum.
inline void store_spirv(const std::filesystem::path& cache, const Shader& shader,
                        const std::vector<std::uint32_t>& words) {
  std::filesystem::create_directories(cache / "spirv");
  std::ofstream(cache / "spirv" / (shader.hash + ".spv"), std::ios::binary)
      << hash_hex(words)
      << std::string_view(reinterpret_cast<const char*>(words.data()),
                          words.size() * sizeof(std::uint32_t));
}

}  // namespace rooftile
