#include "generator/used_lines.h"

#include <algorithm>
#include <cstddef>

namespace rooftile {
namespace {

using Kind = TemplateLine::Kind;

/// A declaration with the comment in front of it; or a blank line, a directive or a comment that
/// stands alone.
struct Declaration {
  std::size_t begin, end;               // lines
  std::vector<std::uint32_t> declared;  // empty: it is needed
};

class Uses {
 public:
  explicit Uses(std::span<const TemplateLine* const> lines) : lines_(lines) {}

  Declaration declaration_at(std::size_t begin) const {
    Declaration d = {begin, begin + 1, {}};
    std::size_t first = begin;  // line of code
    while (first < lines_.size() && lines_[first]->kind == Kind::kComment) ++first;
    if (first == lines_.size() || lines_[first]->kind == Kind::kBlank ||
        lines_[first]->kind == Kind::kDirective || lines_[first]->kind == Kind::kUndefine)
      return d;
    const TemplateLine& head = *lines_[first];
    d.end = first + 1;
    for (int nesting = head.nesting; d.end < lines_.size() && goes_on(d.end, head, nesting);
         ++d.end)
      nesting += lines_[d.end]->nesting;
    const auto add = [&](const std::vector<std::uint32_t>& names) {
      d.declared.insert(d.declared.end(), names.begin(), names.end());
    };
    if (head.text.starts_with("const "))
      for (std::size_t i = first; i < d.end; ++i) add(lines_[i]->assigned);
    else if (!head.is_needed)
      add(head.declared);
    // An instruction may stand in a line of its own, in front of the function that it makes.
    if (d.declared.empty() && head.text.starts_with("spirv_instruction(") && first + 1 < d.end)
      add(lines_[first + 1]->declared);
    return d;
  }

  void count(const Declaration& d, int by) {
    for (std::size_t i = d.begin; i < d.end; ++i)
      for (const std::uint32_t name : lines_[i]->names) {
        if (uses_.size() <= name) uses_.resize(name + 1);
        if (std::ranges::find(d.declared, name) == d.declared.end()) uses_[name] += by;
      }
  }

  bool has_use(const Declaration& d) const {
    return d.declared.empty() || std::ranges::any_of(d.declared, [&](std::uint32_t name) {
             return name < uses_.size() && uses_[name] > 0;
           });
  }

 private:
  /// Whether the line before `line` does not end the declaration that begins with `head`.
  bool goes_on(std::size_t line, const TemplateLine& head, int nesting) const {
    const TemplateLine& last = *lines_[line - 1];
    return head.kind == Kind::kDefine ? last.text.ends_with('\\') : nesting > 0 || !last.ends;
  }

  std::span<const TemplateLine* const> lines_;
  std::vector<int> uses_;  // of a name, by other declarations
};

}  // namespace

std::vector<const TemplateLine*> used_lines(std::span<const TemplateLine* const> lines) {
  Uses uses(lines);
  std::vector<Declaration> declarations;
  for (std::size_t at = 0; at < lines.size(); at = declarations.back().end)
    declarations.push_back(uses.declaration_at(at));
  for (const Declaration& d : declarations) uses.count(d, 1);
  const auto is_unused = [&](const Declaration& d) {
    if (uses.has_use(d)) return false;
    uses.count(d, -1);
    return true;
  };
  while (std::erase_if(declarations, is_unused) > 0) {
  }
  std::vector<const TemplateLine*> used;
  for (const Declaration& d : declarations)
    used.insert(used.end(), lines.begin() + static_cast<std::ptrdiff_t>(d.begin),
                lines.begin() + static_cast<std::ptrdiff_t>(d.end));
  return used;
}

}  // namespace rooftile
