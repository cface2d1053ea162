// Component types of matrices in SPIR-V, for a compiler that cannot pass a type to spirv_type.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace rooftile {

/// The GLSL literal that stands for a component type where templates/matrix_types.glsl declares a
/// matrix. Throws kInternal for a type that no matrix unit knows.
std::string_view matrix_type_tag(DataType type);

/// Puts the scalar types' ids where OpTypeCooperativeMatrixKHR has tags, and those types above the
/// first type of the module; adds the ones that it lacks. Words without tags are returned as they
/// are. Throws kCompile for words that are no SPIR-V module.
std::vector<std::uint32_t> resolve_matrix_types(const std::vector<std::uint32_t>& module);

}  // namespace rooftile
