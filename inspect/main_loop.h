// The loop of a kernel that holds its multiply-add work, in counts. All functions are pure.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "inspect/instruction.h"

namespace rooftile {

/// Instructions of one trip of a loop, each counted once, whether a branch passes it or not.
struct InstructionCounts {
  std::array<int, kInstructionClasses> of_class = {};
  std::map<MemoryAccess, int> accesses;  // loads, stores and atomic operations, by width
  std::map<std::string, int> matrix;     // opcodes of matrix operations
  std::map<std::string, int> unknown;    // opcodes that are not known
  std::map<std::string, int> opcodes;    // all of them
  int shared_issues = 0;                 // second halves of dual-issued instructions
  double multiply_adds = 0;              // of a subgroup

  int count(InstructionClass kind) const { return of_class[static_cast<std::size_t>(kind)]; }
  /// Matrix operations and multiply-adds.
  int products() const {
    return count(InstructionClass::kMatrix) + count(InstructionClass::kMultiplyAdd);
  }
  /// Instructions that are neither products nor delays. Unknown ones are among them.
  int others() const;
  /// Others for each product; nothing without a product.
  std::optional<double> others_per_product() const;

  bool operator==(const InstructionCounts&) const = default;
};

struct MainLoop {
  InstructionCounts counts;
  std::size_t first_line = 0, last_line = 0;  // of the assembly
  // Where the main loop is inside another one, such as a loop over shared tiles: the others of that
  // loop outside of the main loop. One trip of it has several trips of the main loop.
  std::optional<int> outer_others;

  bool operator==(const MainLoop&) const = default;
};

InstructionCounts all_counts(const Program& program);

/// The innermost loop that holds the most multiply-adds: a loop inside another one takes its place
/// if it holds (nearly) all of its multiply-adds. Of loops with equally many (for whole tiles and
/// for edges), the one with the fewest other instructions is taken. Nothing where no loop has
/// multiply-adds. Throws kUnsupported as loops_of().
std::optional<MainLoop> main_loop(const Program& program);

}  // namespace rooftile
