// Component types of matrices in SPIR-V, which the GLSL compiler cannot write: a template has tags
// in their place, and these functions replace them. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device_profile.h"

namespace rooftile {

/// The GLSL literal that stands for a component type of matrices. Throws kInternal for a type that
/// no matrix unit supports.
std::string matrix_tag(DataType type);
/// That of uint32.
std::string unsigned_sum_tag();

/// Replaces the tags in OpTypeCooperativeMatrixKHR by the ids of the scalar types, moves those
/// types above the first type of the module, and adds the missing ones. Sums of two matrices get
/// NoContraction, so that no driver lets the operation before add, which truncates. A module without
/// tags is returned unchanged. Throws kCompile for words that are no SPIR-V module.
std::vector<std::uint32_t> resolve_matrix_types(const std::vector<std::uint32_t>& module);

}  // namespace rooftile
