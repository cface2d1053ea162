// What the tests of matrix kernels ask of a module without a device that could run it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rooftile {

/// Runs the validator named by ROOFTILE_SPIRV_VAL (scripts/newer-lavapipe sets it), and expects no
/// complaint: Debian 12's does not know matrices.
void expect_valid(const std::vector<std::uint32_t>& words, const std::string& what);

/// Whether a component type was left as a tag (generator/matrix_types.h).
bool holds_tag(const std::vector<std::uint32_t>& words);

}  // namespace rooftile
