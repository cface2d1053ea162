// Instructions of a GPU's assembly in the terms that the vendors share, and the program that they
// form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rooftile {

enum class InstructionClass : std::uint8_t {
  kMatrix,       // an operation of the matrix units
  kMultiplyAdd,  // a multiply-add or dot product for each invocation
  kVector,       // another operation for each invocation
  kScalar,       // an operation for the subgroup
  kLoad,
  kStore,
  kAtomic,
  kBranch,
  kWait,     // waits for memory or for other instructions
  kBarrier,  // waits for the workgroup
  kDelay,    // does nothing: no operation, hint to the scheduler
  kUnknown,  // the opcode is not known
};
inline constexpr std::size_t kInstructionClasses = 12;

enum class MemorySpace : std::uint8_t { kShared, kGlobal, kScratch, kConstant };

/// A load, store or atomic operation. bits are those of one invocation, or of the subgroup where it
/// moves one value for all of its invocations; 0: the assembly does not tell.
struct MemoryAccess {
  InstructionClass kind = InstructionClass::kLoad;
  MemorySpace space = MemorySpace::kGlobal;
  int bits = 0;
  bool per_subgroup = false;

  auto operator<=>(const MemoryAccess&) const = default;
};

struct Instruction {
  InstructionClass kind = InstructionClass::kUnknown;
  std::string opcode = {};    // as the assembly names it
  MemoryAccess access = {};   // of kLoad, kStore and kAtomic
  double multiply_adds = 0;   // of the whole subgroup
  bool shares_issue = false;  // the second half of a dual-issued instruction
  std::size_t line = 0;       // of the assembly, counted from 1
};

/// Instructions that run one after the other, and the blocks that may follow.
struct Block {
  std::size_t first = 0, count = 0;     // instructions
  std::vector<std::size_t> successors;  // indices of blocks
};

/// The first block is the entry.
struct Program {
  std::vector<Instruction> instructions;
  std::vector<Block> blocks;
};

}  // namespace rooftile
