// Loops of a program. All functions are pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "inspect/instruction.h"

namespace rooftile {

/// A natural loop: the blocks from which control can come back to the header without leaving.
struct Loop {
  std::size_t header = 0;
  std::vector<std::size_t> blocks;    // ascending
  std::optional<std::size_t> parent;  // the smallest loop around it
};

/// Loops that share no header, outer loops before the loops inside of them. What cannot be reached
/// from the entry is left out, as are cycles that can be entered at several blocks. Throws
/// kUnsupported where loops lie in loops so deeply that counting them would take minutes.
std::vector<Loop> loops_of(const Program& program);

}  // namespace rooftile
