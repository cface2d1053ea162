#include "generator/web/dialect.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "core/error.h"
#include "generator/names.h"

namespace rooftile {
namespace {

/// Replaces the only occurrence of `from`; returns whether there was one.
bool replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return false;
  text.replace(at, from.size(), to);
  return true;
}

void replace_or_fail(std::string& text, std::string_view from, std::string_view to) {
  if (!replace(text, from, to))
    fail(ErrorCode::kInternal, "a kernel template for WebGPU has no '{}'", from);
}

constexpr std::string_view kAllSteps =
    "#define k depth  // in the uniform buffer, so that all invocations evidently have the same\n";
constexpr std::string_view kStepsOfSplit =
    "// Evidently the same for all invocations of a workgroup, which a variable would not be.\n"
    "uint steps_of_split() {\n"
    "  return min(depth - gl_WorkGroupID.z / batch * split_depth, split_depth);\n"
    "}\n"
    "#define k steps_of_split()\n";

/// Replaces `word` where it is an identifier of its own.
std::string with_word(std::string_view text, std::string_view word, std::string_view by) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = text.substr(at).starts_with(word) && (at == 0 || !is_of_name(text[at - 1]));
    const std::size_t end = at + word.size();
    if (begins && (end == text.size() || !is_of_name(text[end]))) {
      result += by;
      at = end;
    } else {
      result += text[at++];
    }
  }
  return result;
}

/// One function for each number of steps that multiply() is called with, so that the loops in it
/// have constant ends and the translation to WGSL can unroll them.
void specialise_multiply(std::string& glsl) {
  constexpr std::string_view kHead = "void multiply(uint steps) {", kEnd = "\n}\n";
  const std::size_t begin = glsl.find(kHead);
  if (begin == std::string::npos) return;
  const std::size_t end = glsl.find(kEnd, begin) + kEnd.size();
  const std::string function = glsl.substr(begin, end - begin);
  std::string functions;
  for (const auto& [steps, name] :
       {std::pair{"UNROLL_K", "multiply_whole"}, std::pair{"TAIL_K", "multiply_tail"}}) {
    if (glsl.find(fmt::format("multiply({})", steps)) == std::string::npos) continue;
    functions += fmt::format("void {}() {{", name);
    functions += with_word(std::string_view(function).substr(kHead.size()), "steps", steps);
  }
  glsl.replace(begin, end - begin, functions);
  replace(glsl, "multiply(UNROLL_K)", "multiply_whole()");
  replace(glsl, "multiply(TAIL_K)", "multiply_tail()");
}

}  // namespace

std::string web_text(std::string glsl, std::size_t parameters_binding, WebSteps steps) {
  replace_or_fail(glsl, "layout(push_constant) uniform",
                  fmt::format("layout(binding = {}, std140) uniform", parameters_binding));
  // WGSL has no buffers that are only written. glslang says so of the whole buffer since 2024.
  replace(glsl, "writeonly buffer", "buffer");
  specialise_multiply(glsl);
  if (steps == WebSteps::kOwn) return glsl;
  replace_or_fail(glsl, "uint k, offset_a, offset_b, offset_c;\n",
                  fmt::format("uint offset_a, offset_b, offset_c;\n{}",
                              steps == WebSteps::kAll ? kAllSteps : kStepsOfSplit));
  replace_or_fail(glsl, "  k = min(depth - first_step, split_depth);\n", "");
  return glsl;
}

}  // namespace rooftile
