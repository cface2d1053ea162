// Component types of matrices in SPIR-V, which the GLSL compiler cannot write: a template has tags
// in their place, and these functions replace them. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device_profile.h"
#include "generator/templates.h"

namespace rooftile {

/// Adds the defines and includes by which templates/matrix/types.glsl describes a shape. Throws
/// kInternal for a type that no matrix unit supports.
void describe_matrix(Defines& defines, Includes& includes, const MatrixShape& shape);

/// Replaces the tags in OpTypeCooperativeMatrixKHR by the ids of the scalar types, moves those
/// types above the first type of the module, and adds the missing ones. A module without tags is
/// returned unchanged. Throws kCompile for words that are no SPIR-V module.
std::vector<std::uint32_t> resolve_matrix_types(const std::vector<std::uint32_t>& module);

}  // namespace rooftile
