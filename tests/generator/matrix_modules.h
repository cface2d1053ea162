// Checks of matrix kernels' modules that need no device with matrix units.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rooftile {

/// Runs the validator named by ROOFTILE_SPIRV_VAL, which scripts/newer-lavapipe sets, because
/// Debian 12's validator does not know matrices. Expects no message.
void expect_valid(const std::vector<std::uint32_t>& words, const std::string& what);

/// Whether a component type is still a tag (generator/matrix_types.h).
bool holds_tag(const std::vector<std::uint32_t>& words);

}  // namespace rooftile
