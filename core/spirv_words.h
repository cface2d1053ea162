// Iteration over the instructions of a SPIR-V module. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "core/error.h"

namespace rooftile {

using SpirvWords = std::span<const std::uint32_t>;

// Numbers of the SPIR-V specification, section 2.3.
inline constexpr std::uint32_t kSpirvMagic = 0x07230203;
inline constexpr std::size_t kSpirvHeaderWords = 5;

inline std::uint32_t spirv_opcode(SpirvWords instruction) { return instruction[0] & 0xffff; }

/// Calls visit(instruction) for each instruction after the header, in order. Throws kCompile for
/// words that are no SPIR-V module, and at an instruction that does not fit into it.
template <typename Visit>
void for_each_spirv_instruction(SpirvWords module, Visit&& visit) {
  if (module.size() <= kSpirvHeaderWords || module[0] != kSpirvMagic)
    fail(ErrorCode::kCompile, "not a SPIR-V module: {} words, the first is {:#x} instead of {:#x}",
         module.size(), module.empty() ? 0 : module[0], kSpirvMagic);
  for (SpirvWords rest = module.subspan(kSpirvHeaderWords); !rest.empty();) {
    const std::size_t count = rest[0] >> 16;
    if (count == 0 || count > rest.size())
      fail(ErrorCode::kCompile,
           "damaged SPIR-V module: the instruction at word {} of {} claims {} words",
           module.size() - rest.size(), module.size(), count);
    visit(rest.first(count));
    rest = rest.subspan(count);
  }
}

}  // namespace rooftile
