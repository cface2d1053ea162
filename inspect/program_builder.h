// Common to the parsers: lines of a text, words of a line, and blocks with labels. Private to
// inspect/.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "inspect/assembly.h"

namespace rooftile {

Program parse_aco(std::string_view text, const AssemblyContext& context);
Program parse_brw(std::string_view text, const AssemblyContext& context);
Program parse_nak(std::string_view text, const AssemblyContext& context);

/// Returns the text up to the separator, without spaces at its ends, and removes it and the
/// separator.
std::string_view take_until(std::string_view& text, char separator);
std::string_view trimmed(std::string_view text);
/// Returns the first word and removes it.
std::string_view take_word(std::string_view& text);
/// A number of decimal digits at the start of the text, which is removed. Nothing where there is
/// none or it is above a million.
std::optional<int> take_number(std::string_view& text);
/// Whether all characters can be part of an assembly's text. Binary data has others.
bool is_text(std::string_view line);
/// The text for a message: cut, with other characters replaced.
std::string quoted(std::string_view line);
/// The product of the sides of a matrix operation, which stand behind these letters in its name
/// ("m16n8k16" with "mnk"), or "16x16x16" with "xx". 0 where there is none.
double product_of_sides(std::string_view opcode, std::string_view letters);

/// Makes blocks of instructions, labels and jumps to labels.
class ProgramBuilder {
 public:
  /// Begins a line of the text, for messages.
  void at_line(std::size_t line) { line_ = line; }
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

  std::size_t line_ = 0;
  Program program_;
  std::vector<Edges> edges_;  // of each block
  std::map<std::string, std::size_t, std::less<>> labels_;
  bool open_ = false;
};

}  // namespace rooftile
