// Words that the text and the page share. Private to inspect/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "inspect/inspection.h"

namespace rooftile {

/// What became of a compilation that is not done, in a sentence.
std::string compilation_sentence(const KernelInspection& kernel);
/// Why there is no main loop, in a sentence.
std::string loop_sentence(const KernelInspection& kernel);

/// Spilled registers, or stores of them where the driver counts those.
std::optional<std::int64_t> spilled(const CompilerFacts& facts);

std::string value_text(const CompilerStatistic& statistic);
/// o/m with three digits, or "-".
std::string ratio_text(const InstructionCounts& counts);

/// What must be known of a main loop besides its counts; mostly empty.
std::string loop_notes(const MainLoop& loop);

/// Each kind of instruction that the loop has, in words, with its count: products first, then
/// memory, then the others.
std::vector<std::pair<std::string, int>> instruction_lines(const InstructionCounts& counts);

}  // namespace rooftile
