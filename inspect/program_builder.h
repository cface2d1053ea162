// Makes a program of instructions, labels and jumps. Private to inspect/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/instruction.h"

namespace rooftile {

/// Reads an assembly line by line, and makes blocks of its instructions, labels and jumps to
/// labels.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string_view text) : rest_(text) {}

  /// The next line; no value after the last one. Refuses a line that is no text.
  std::optional<std::string_view> next_line();
  [[noreturn]] void refuse(const std::string& what) const;

  void add(Instruction instruction);
  /// Adds the last instruction this many times more. Refuses where there is none.
  void repeat(int times);
  void label(std::string_view name);

  enum class Next : bool { kContinues, kLeaves };
  /// Ends the block, after which control may go to these labels; kContinues: or to the next block.
  /// Without labels and with kLeaves the program ends there.
  void leave(std::vector<std::string> labels, Next next);

  /// Refuses a program without instructions, one whose last block does not leave, and jumps to
  /// labels that are missing.
  Program finish();

 private:
  struct Edges {
    std::vector<std::string> labels;
    bool continues = true;
    std::size_t line = 0;
  };
  void open_block();

  std::string_view rest_;  // The part of the text that was not read yet.
  std::size_t line_ = 0;
  Program program_;
  std::vector<Edges> edges_;  // of each block
  std::map<std::string, std::size_t, std::less<>> labels_;
  bool open_ = false;
};

}  // namespace rooftile
