#include "bench/limiter/changes.h"

#include <regex>
#include <string_view>

#include "core/error.h"

namespace rooftile {
namespace {

/// Replaces all matches; returns their number.
int replace(std::string& text, const std::string& pattern, const std::string& by) {
  const std::regex expression(pattern);
  const auto count = std::distance(std::sregex_iterator(text.begin(), text.end(), expression),
                                   std::sregex_iterator());
  text = std::regex_replace(text, expression, by);
  return static_cast<int>(count);
}

void replace_some(std::string& text, const std::string& pattern, const std::string& by) {
  if (replace(text, pattern, by) == 0)
    fail(ErrorCode::kInternal,
         "the kernel's text has nothing like '{}'; bench/limiter/changes.cpp "
         "must follow templates/",
         pattern);
}

/// Values that equal x (again) and x and y, which are equal (both), at the cost of one bitwise
/// operation each.
constexpr std::string_view kHelpers = R"(
uint nothing;
int again(int x) { return x ^ int(nothing); }
ivec2 again(ivec2 x) { return x ^ int(nothing); }
ivec4 again(ivec4 x) { return x ^ int(nothing); }
float again(float x) { return uintBitsToFloat(floatBitsToUint(x) ^ nothing); }
vec4 again(vec4 x) { return uintBitsToFloat(floatBitsToUint(x) ^ nothing); }
int both(int x, int y) { return x | y; }
ivec2 both(ivec2 x, ivec2 y) { return x | y; }
ivec4 both(ivec4 x, ivec4 y) { return x | y; }
uint both(uint x, uint y) { return x | y; }
uvec2 both(uvec2 x, uvec2 y) { return x | y; }
uvec4 both(uvec4 x, uvec4 y) { return x | y; }
float both(float x, float y) { return uintBitsToFloat(floatBitsToUint(x) | floatBitsToUint(y)); }
vec2 both(vec2 x, vec2 y) { return uintBitsToFloat(floatBitsToUint(x) | floatBitsToUint(y)); }
vec4 both(vec4 x, vec4 y) { return uintBitsToFloat(floatBitsToUint(x) | floatBitsToUint(y)); }
)";

/// `depth` is below 2^31 for every legal problem.
void add_helpers(std::string& text) {
  replace_some(text, R"(void begin_gemm\(uint z\) \{)",
               std::string(kHelpers) + "void begin_gemm(uint z) {\n  nothing = depth >> 31;");
}

/// Adds each product twice. The second one of integers has both factors changed: with one,
/// compilers add the factors first and multiply once.
void repeat_products(std::string& text) {
  const bool integers = text.find("#define ELEMENT int\n") != std::string::npos;
  replace_some(text, R"((\w+(?:\[\w+\])*) \+= product\((.*)\);)",
               "{ $1 += product($2); $1 += PRODUCT_AGAIN($2); }");
  replace_some(text, "\nuint nothing;",
               std::string("\n#define PRODUCT_AGAIN(x, y) product(again(x), ") +
                   (integers ? "again(y)" : "y") + ")\nuint nothing;");
}

void repeat_loads(std::string& text) {
  const int found =
      replace(text, R"(texelFetch\((\w+), int\((\w+)\)\))",
              "both(texelFetch($1, int($2)), texelFetch($1, int($2 + nothing)))") +
      replace(text, R"(\b([ab](?:_words)?)\[(vector_index[^\]]*)\])",
              "both($1[$2], $1[$2 + nothing])") +
      replace(text, R"(\bscales\[(i(?: / 2)?)\])", "both(scales[$1], scales[$1 + nothing])");
  if (found == 0) fail(ErrorCode::kInternal, "the kernel's text has no loads");
}

void spread_lines(std::string& text) {
  replace_some(text, R"((fetch_(?:a|b|words))\(uint vector_index\) \{)",
               "$1(uint dense_index) { const uint vector_index = 2 * dense_index; ");
}

/// Reads of tiles, and the reads and writes by which lanes add their sums.
bool repeat_shared(std::string& text) {
  const int tiles = replace(text, R"(= ([ab]_tile)\[(.*)\];)", "= both($1[$2], $1[$2 + nothing]);");
  const int writes =
      replace(text, R"(partial_sums\[j\]\[self\] = (.*);)",
              "{ partial_sums[j][self] = $1; partial_sums[j][self + nothing] = $1; }");
  const int sums =
      replace(text, R"(partial_sums\[j\]\[self\] \+= (partial_sums\[j\]\[.*)\];)",
              "{\n  VECTOR_C x = both(partial_sums[j][self], partial_sums[j][self + nothing]);"
              "\n  x += both($1], $1 + nothing]);\n  partial_sums[j][self] = x;"
              "\n  partial_sums[j][self + nothing] = x;\n}");
  return tiles + writes + sums > 0;
}

/// Drivers merge barriers with nothing between them.
bool repeat_barriers(std::string& text) {
  if (replace(text, R"(\bbarrier\(\);)",
              "{ barrier(); if (nothing != 0) between_barriers = nothing; barrier(); }") == 0)
    return false;
  replace_some(text, "\nuint nothing;", "\nuint nothing;\nshared uint between_barriers;");
  return true;
}

bool repeat_broadcasts(std::string& text) {
  return replace(text, R"(subgroupBroadcast\(own, lane\))",
                 "both(subgroupBroadcast(own, lane), subgroupBroadcast(again(own), lane))") > 0;
}

void repeat_stores(std::string& text) {
  for (const auto& [name, next] : {std::pair<std::string, std::string>{"store_c", "nothing"},
                                   {"store_c_vector", "VECTOR_WIDTH_C * nothing"}})
    replace(text, "void " + name + R"(\(uint i, (\w+) x\) \{)",
            "void " + name + "_once(uint i, $1 x);\nvoid " + name + "(uint i, $1 x) {\n  " + name +
                "_once(i, x);\n  " + name + "_once(i + " + next + ", x);\n}\nvoid " + name +
                "_once(uint i, $1 x) {");
  replace_some(text, "store_c_once", "store_c_once");
}

bool apply(std::string& text, Change change) {
  switch (change) {
    case Change::kNone:
      return true;
    case Change::kArithmetic:
      return repeat_products(text), true;
    case Change::kLoads:
      return repeat_loads(text), true;
    case Change::kLines:
      return spread_lines(text), true;
    case Change::kShared:
      return repeat_shared(text);
    case Change::kBarriers:
      return repeat_barriers(text);
    case Change::kBroadcasts:
      return repeat_broadcasts(text);
    case Change::kStores:
      return repeat_stores(text), true;
    case Change::kLaunches:
      replace_some(text, R"(void main\(\) \{)", "void main() {\n  if (depth >> 31 == 0) return;");
      return true;
    case Change::kSums:
      return true;
    case Change::kIdle:
      replace_some(text, R"(gl_WorkGroupID\.z)", "(gl_WorkGroupID.z % (gl_NumWorkGroups.z / 2))");
      return true;
  }
  return false;
}

}  // namespace

std::string_view name_of(Change change) {
  switch (change) {
    case Change::kNone:
      return "control";
    case Change::kArithmetic:
      return "arithmetic";
    case Change::kLoads:
      return "loads";
    case Change::kLines:
      return "lines";
    case Change::kShared:
      return "shared";
    case Change::kBarriers:
      return "barriers";
    case Change::kBroadcasts:
      return "broadcasts";
    case Change::kStores:
      return "stores";
    case Change::kLaunches:
      return "launches";
    case Change::kSums:
      return "sums";
    case Change::kIdle:
      return "idle";
  }
  return "";
}

std::optional<Shader> changed(const Shader& gemm, Change change) {
  Shader shader = gemm;
  add_helpers(shader.glsl);
  if (!apply(shader.glsl, change)) return std::nullopt;
  shader.hash = shader_hash(name_of(change), shader.glsl, shader.optimization);
  return shader;
}

}  // namespace rooftile
