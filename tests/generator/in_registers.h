// A module as a driver's compiler sees it after its first passes, for tests that read SPIR-V.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rooftile {

/// The assembly of the module with every function inlined, [[unroll]] loops unrolled and variables
/// in registers. Loops in `nested` others are unrolled: each level takes a pass.
std::string in_registers(const std::vector<std::uint32_t>& words, int nested = 3);

}  // namespace rooftile
