// Component types of matrices in SPIR-V, for a compiler that cannot pass a type to spirv_type.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device_profile.h"
#include "generator/templates.h"

namespace rooftile {

/// What templates/matrix_types.glsl and the files that it includes read of a shape. Throws
/// kInternal for a type that no matrix unit knows.
void describe_matrix(Defines& defines, Includes& includes, const MatrixShape& shape);

/// Puts the scalar types' ids where OpTypeCooperativeMatrixKHR has tags, and those types above the
/// first type of the module; adds the ones that it lacks. Words without tags are returned as they
/// are. Throws kCompile for words that are no SPIR-V module.
std::vector<std::uint32_t> resolve_matrix_types(const std::vector<std::uint32_t>& module);

}  // namespace rooftile
