// Basic check of a SPIR-V module, so that a wrong or truncated file gives an error and not a crash
// inside a driver. It is no validator, because modules come from our own generator. A pure function
// of values.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace rooftile {

struct SpirvSummary {
  std::array<std::uint32_t, 3> local_size = {};  ///< Zeros: not given as literals (specialised).
};

/// Throws kCompile when the header is not SPIR-V's, an instruction runs past the end, or there is
/// no compute entry point "main".
SpirvSummary summarise_spirv(std::span<const std::uint32_t> words);

}  // namespace rooftile
