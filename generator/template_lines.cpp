#include "generator/template_lines.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "generator/names.h"
#include "generator/template_text.h"

namespace rooftile {
namespace {

/// What "for A" and "for B" behind an include write for the names with a $ in the file.
constexpr std::array<std::array<std::string_view, 3>, 6> kOperandNames = {{
    {"$A", "A", "B"},
    {"$a", "a", "b"},
    {"$M", "M", "N"},
    {"$m", "m", "n"},
    {"$row", "row", "column"},
    {"$0", "0", "1"},
}};

template <typename Visit>  // visit(name, what stands behind it)
void for_each_name(std::string_view code, Visit visit) {
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t begin = at;
    while (at < code.size() && is_of_name(code[at])) ++at;
    if (at > begin && !is_digit(code[begin]))
      visit(code.substr(begin, at - begin), code.substr(at));
    if (at == begin) ++at;
  }
}

/// The code without a spirv_instruction(...) at its beginning.
std::string_view without_instruction(std::string_view code) {
  if (!code.starts_with("spirv_instruction(")) return code;
  int nesting = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    nesting += code[i] == '(' ? 1 : code[i] == ')' ? -1 : 0;
    if (code[i] == ')' && nesting == 0) return code.substr(i + 1);
  }
  return {};
}

/// The name in front of the first bracket: that of the function, if the code declares one.
std::string_view called_name(std::string_view code) {
  const std::size_t bracket = code.find('(');
  if (bracket == std::string_view::npos) return {};
  const std::string_view front = code.substr(0, bracket);
  if (front.find_first_of("=[") != std::string_view::npos) return {};  // a variable
  std::size_t begin = bracket;
  while (begin > 0 && is_of_name(code[begin - 1])) --begin;
  return code.substr(begin, bracket - begin);
}

void find_declarations(TemplateLine& line, std::string_view code) {
  if (code.starts_with("layout(") || code.starts_with("shared ") || code.starts_with("void main()"))
    line.is_needed = true;
  else if (const std::string_view name = called_name(without_instruction(code)); !name.empty())
    line.declared.push_back(name_number(name));
  for_each_name(code, [&](std::string_view name, std::string_view behind) {
    if (behind.starts_with(" = ") || behind == " =") line.assigned.push_back(name_number(name));
  });
}

/// rest: what stands behind "#define ".
void find_define(TemplateLine& line, std::string_view rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_of_name);
  const std::string_view name = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  line.declared.push_back(name_number(name));
  if (end != rest.end() && *end != ' ') return;  // a macro with parameters
  line.name = name;
  line.value = rest.substr(std::min(rest.size(), name.size() + 1));
}

/// A template's text for an operand, and its lines, which refer to it.
struct Template {
  Template(std::string_view file, ForOperand operand) : text(template_text(file)) {
    if (operand != ForOperand::kNone)
      for (const auto& names : kOperandNames)
        for (std::size_t at = 0; (at = text.find(names[0], at)) != std::string::npos;)
          text.replace(at, names[0].size(), names[static_cast<std::size_t>(operand)]);
    for_each_line(text, [&](std::string_view line) { lines.push_back(taken_apart(line)); });
  }
  Template(const Template&) = delete;
  Template& operator=(const Template&) = delete;

  std::string text;
  std::vector<TemplateLine> lines;
};

}  // namespace

std::uint32_t name_number(std::string_view name) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::uint32_t> numbers;
  const std::lock_guard lock(mutex);
  return numbers.emplace(name, numbers.size()).first->second;
}

std::string_view without_comment(std::string_view line) {
  line = line.substr(0, line.find("//"));
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

TemplateLine taken_apart(std::string_view text) {
  using enum TemplateLine::Kind;
  TemplateLine line;
  const std::string_view code = without_comment(text);
  if (code.empty()) {
    const bool blank = text.empty() || text.starts_with("//:");
    line.kind = blank ? kBlank : kComment;
    if (!blank) line.text = text;
    return line;
  }
  line.text = text;
  const auto is = [&](std::string_view directive, TemplateLine::Kind kind) {
    if (!code.starts_with(directive)) return false;
    line.kind = kind;
    line.condition = code.substr(directive.size());
    return true;
  };
  if (is("#if ", kIf) || is("#elif ", kElif) || is("#else", kElse) || is("#endif", kEndif))
    return line;
  if (is("#include \"", kInclude)) {
    line.name = line.condition.substr(0, line.condition.find('"'));
    line.value = line.condition.substr(std::min(line.condition.size(), line.name.size() + 1));
    return line;
  }
  for_each_name(code, [&](std::string_view name, std::string_view) {
    line.names.push_back(name_number(name));
  });
  for (const char c : code)
    line.nesting += c == '(' || c == '{' || c == '['   ? 1
                    : c == ')' || c == '}' || c == ']' ? -1
                                                       : 0;
  line.ends = code.ends_with(';') || code.ends_with('}');
  if (is("#define ", kDefine))
    find_define(line, line.condition);
  else if (is("#undef ", kUndefine))
    line.name = line.condition;
  else if (code.starts_with('#'))
    line.kind = kDirective;
  else
    find_declarations(line, code);
  return line;
}

const std::vector<TemplateLine>& template_lines(std::string_view file, ForOperand operand) {
  // What is taken apart is kept: a kernel takes a quarter of the time.
  static std::mutex mutex;
  static std::map<std::pair<std::string, ForOperand>, Template> kept;
  const std::pair key{std::string(file), operand};
  const std::lock_guard lock(mutex);
  auto found = kept.find(key);
  if (found == kept.end())
    found = kept.emplace(std::piecewise_construct, std::forward_as_tuple(key),
                         std::forward_as_tuple(file, operand))
                .first;
  return found->second.lines;
}

}  // namespace rooftile
