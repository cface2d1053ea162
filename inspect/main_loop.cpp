#include "inspect/main_loop.h"

#include <algorithm>

#include "inspect/loops.h"

namespace rooftile {
namespace {

using enum InstructionClass;

// Addresses and edges may have a few multiply-adds of their own.
constexpr double kEqual = 0.98;

void add(InstructionCounts& counts, const Instruction& instruction) {
  ++counts.of_class[static_cast<std::size_t>(instruction.kind)];
  ++counts.opcodes[instruction.opcode];
  counts.multiply_adds += instruction.multiply_adds;
  if (instruction.shares_issue) ++counts.shared_issues;
  switch (instruction.kind) {
    case kLoad:
    case kStore:
    case kAtomic:
      ++counts.accesses[instruction.access];
      break;
    case kMatrix:
      ++counts.matrix[instruction.opcode];
      break;
    case kUnknown:
      ++counts.unknown[instruction.opcode];
      break;
    default:
      break;
  }
}

MainLoop counted(const Program& program, const Loop& loop) {
  MainLoop made;
  for (const std::size_t index : loop.blocks) {
    const Block& block = program.blocks[index];
    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
      const Instruction& instruction = program.instructions[i];
      add(made.counts, instruction);
      made.first_line =
          made.first_line == 0 ? instruction.line : std::min(made.first_line, instruction.line);
      made.last_line = std::max(made.last_line, instruction.line);
    }
  }
  return made;
}

}  // namespace

int InstructionCounts::others() const {
  int others = 0;
  for (const int count : of_class) others += count;
  return others - products() - count(kDelay);
}

std::optional<double> InstructionCounts::others_per_product() const {
  if (products() == 0) return std::nullopt;
  return static_cast<double>(others()) / products();
}

InstructionCounts all_counts(const Program& program) {
  InstructionCounts counts;
  for (const Instruction& instruction : program.instructions) add(counts, instruction);
  return counts;
}

std::optional<MainLoop> main_loop(const Program& program) {
  const std::vector<Loop> loops = loops_of(program);
  std::vector<MainLoop> counts;
  for (const Loop& loop : loops) counts.push_back(counted(program, loop));

  // A loop is a candidate if no loop inside of it takes its place.
  std::vector<bool> replaced(loops.size(), false);
  for (std::size_t i = 0; i < loops.size(); ++i)
    for (auto outer = loops[i].parent; outer; outer = loops[*outer].parent)
      if (counts[i].counts.multiply_adds > 0 &&
          counts[i].counts.multiply_adds >= kEqual * counts[*outer].counts.multiply_adds)
        replaced[*outer] = true;
  double most = 0;
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (!replaced[i]) most = std::max(most, counts[i].counts.multiply_adds);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const InstructionCounts& x = counts[i].counts;
    if (most == 0 || replaced[i] || x.multiply_adds < kEqual * most) continue;
    if (!best || x.others() < counts[*best].counts.others()) best = i;
  }
  if (!best) return std::nullopt;
  MainLoop found = counts[*best];
  if (const auto outer = loops[*best].parent)
    found.outer_others = counts[*outer].counts.others() - found.counts.others();
  return found;
}

}  // namespace rooftile
