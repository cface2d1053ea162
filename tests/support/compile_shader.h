// Compiles GLSL compute shaders for the tests of the device layer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rooftile {

/// body follows "#version 450" and the subgroup extensions. Throws when the shader does not
/// compile, which fails the test.
std::vector<std::uint32_t> compile_shader(std::string_view body);

}  // namespace rooftile
