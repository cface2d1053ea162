#include "generator/templates.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::string_view kInclude = "#include \"";
constexpr std::string_view kIncludeExtension = "#extension GL_GOOGLE_include_directive";

class Expansion {
 public:
  Expansion(const Defines& defines, const Includes& includes)
      : defines_(defines), includes_(includes) {}

  std::string take() { return std::move(text_); }

  void append(std::string_view file) {
    std::string_view rest = template_text(file);
    bool in_default = false;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (in_default) {
        in_default = line != "#endif";
      } else if (is_default_of_defined(line)) {
        in_default = true;
      } else if (line.starts_with(kInclude)) {
        if (!text_.ends_with("\n\n")) text_.push_back('\n');
        append(chosen(line.substr(kInclude.size(), line.rfind('"') - kInclude.size())));
      } else if (!line.starts_with("#version") && !line.starts_with(kIncludeExtension)) {
        if (!line.empty() || !text_.ends_with("\n\n")) text_.append(line).push_back('\n');
      }
    }
  }

 private:
  bool is_default_of_defined(std::string_view line) const {
    constexpr std::string_view kIfndef = "#ifndef ";
    return line.starts_with(kIfndef) &&
           std::any_of(defines_.begin(), defines_.end(), [&](const auto& define) {
             return define.first == line.substr(kIfndef.size());
           });
  }

  std::string_view chosen(std::string_view file) const {
    const auto found = includes_.find(std::string(file));
    return found == includes_.end() ? file : std::string_view(found->second);
  }

  const Defines& defines_;
  const Includes& includes_;
  std::string text_;
};

}  // namespace

std::string_view template_text(std::string_view file) {
  for (const EmbeddedText& entry : embedded_templates())
    if (entry.name == file) return entry.text;
  fail(ErrorCode::kInternal, "there is no kernel template '{}' in this build", file);
}

std::string expand(std::string_view file, const std::vector<std::string>& comment,
                   const Defines& defines, const Includes& includes) {
  std::string text = "#version 450\n";
  for (const std::string& line : comment) text += fmt::format("// {}\n", line);
  for (const auto& [name, value] : defines) text += fmt::format("#define {} {}\n", name, value);
  Expansion expansion(defines, includes);
  expansion.append(file);
  return text + expansion.take();
}

std::string without_comments(std::string_view glsl) {
  std::string code;
  while (!glsl.empty()) {
    std::string_view line = glsl.substr(0, glsl.find('\n'));
    glsl.remove_prefix(std::min(glsl.size(), line.size() + 1));
    line = line.substr(0, line.find("//"));
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    if (!line.empty()) code.append(line).push_back('\n');
  }
  return code;
}

}  // namespace rooftile
