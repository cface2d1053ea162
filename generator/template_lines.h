// The lines of the kernel templates, taken apart once for all kernels. generator/templates.cpp
// chooses among them, generator/used_lines.h leaves out what a kernel does not use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile {

struct TemplateLine {
  enum class Kind : std::uint8_t {
    kBlank,  // and comments about a file, which begin with //:
    kComment,
    kCode,
    kDefine,
    kUndefine,
    kDirective,  // #extension and what else GLSL's compiler reads
    kInclude,
    kIf,
    kElif,
    kElse,
    kEndif
  };
  Kind kind = Kind::kCode;
  std::string_view text;
  // Of a define without parameters or an #undef; of an include the file, and what stands behind it.
  std::string_view name, value;
  std::string_view condition;  // of #if and #elif
  // Names by number (name_number): those in the code; the function or macro that is declared if a
  // declaration begins here; and the constants that are defined here.
  std::vector<std::uint32_t> names, declared, assigned;
  int nesting = 0;         // brackets of all kinds that are opened, less those that are closed
  bool ends = false;       // with ; or }
  bool is_needed = false;  // a declaration that begins here is kept though nothing uses its name
};

/// The same number for the same name. Thread-safe.
std::uint32_t name_number(std::string_view name);

/// Calls visit(line) for each line of a text, without the end of the line.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    visit(line);
  }
}

/// A line without its comment and trailing blanks.
std::string_view without_comment(std::string_view line);

/// The line's parts refer to the text.
TemplateLine taken_apart(std::string_view text);

/// For which operand an included file is read: its $ names are those of A, or of B.
enum class ForOperand : std::uint8_t { kNone, kA, kB };

/// The lines of a template, which are kept for the process. Thread-safe. Throws kInternal for a
/// file that does not exist.
const std::vector<TemplateLine>& template_lines(std::string_view file, ForOperand operand);

}  // namespace rooftile
