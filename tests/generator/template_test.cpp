// Checks the template files and how the generator puts a kernel's text together from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "core/error.h"
#include "generator/conditions.h"
#include "generator/template_lines.h"
#include "generator/templates.h"
#include "generator/used_lines.h"
#include "tests/support/file_text.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::filesystem::path kFolder = std::filesystem::path(ROOFTILE_SOURCE_DIR) / "templates";

TEST(Templates, AreEmbeddedByteForByte) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() != ".comp" && entry.path().extension() != ".glsl") continue;
    const std::string name = std::filesystem::relative(entry.path(), kFolder).generic_string();
    EXPECT_EQ(template_text(name), bytes_of_file(entry.path())) << name;
    ++count;
  }
  EXPECT_EQ(embedded_templates().size(), count);
}

// without_comments(), and so every shader's hash, supports no other comments.
TEST(Templates, HaveOnlyLineComments) {
  for (const EmbeddedText& entry : embedded_templates())
    EXPECT_EQ(entry.text.find("/*"), std::string_view::npos) << entry.name;
}

// What a compiler that knows the extensions would take from them stands in two files.
TEST(Templates, OnlyCooperativeMatrixFilesSpellOpcodesAndTagsOfMatrices) {
  const auto spelled = [](std::string_view text) {
    std::set<std::string> found;
    static const std::regex kOfMatrices(
        "\\b(445[6-9]|53(6[7-9]|7[0-9]|8[0-2])|6022|5433|5439|0[xX]7[fF][0-9a-fA-F]+|\\w+_TAG|"
        "spirv_type)\\b|SPV_(KHR_cooperative|NV_)\\w+");
    const std::string all(text);
    for (std::sregex_iterator at(all.begin(), all.end(), kOfMatrices), end; at != end; ++at)
      found.insert(at->str());
    return found;
  };
  const std::string_view kOwn[] = {"matrix/cooperative_matrix.glsl",
                                   "matrix/cooperative_matrix2.glsl"};
  for (const EmbeddedText& entry : embedded_templates())
    EXPECT_EQ(spelled(entry.text).empty(), std::ranges::find(kOwn, entry.name) == std::end(kOwn))
        << entry.name << ": " << testing::PrintToString(spelled(entry.text));
}

TEST(Templates, UnknownNamesAreErrors) { EXPECT_THROW(template_text("absent.comp"), Error); }

TEST(Templates, EveryIncludedFileIsThereAndEveryFileIsIncluded) {
  std::set<std::string> included;
  for (const EmbeddedText& entry : embedded_templates())
    for (const TemplateLine& line : template_lines(entry.name, ForOperand::kNone)) {
      if (line.kind != TemplateLine::Kind::kInclude) continue;
      const bool both_operands = template_text(line.name).find('$') != std::string_view::npos;
      EXPECT_EQ(line.value.empty(), !both_operands) << entry.name << ": " << line.text;
      included.emplace(line.name);
    }
  for (const EmbeddedText& entry : embedded_templates())
    EXPECT_EQ(included.contains(std::string(entry.name)), entry.name.ends_with(".glsl"))
        << entry.name;
}

TEST(TemplateLines, AFileForBothOperandsHasTheNamesOfOne) {
  const auto text = [](ForOperand operand) {
    std::string lines;
    for (const TemplateLine& line : template_lines("tile/operand.glsl", operand))
      lines += std::string(line.text) + "\n";
    return lines;
  };
  EXPECT_THAT(text(ForOperand::kA), HasSubstr("void begin_tile_a(uint row0) {"));
  EXPECT_THAT(text(ForOperand::kA), HasSubstr("(m - 1) / VECTOR_WIDTH_A"));
  EXPECT_THAT(text(ForOperand::kB), HasSubstr("void begin_tile_b(uint column0) {"));
  EXPECT_THAT(text(ForOperand::kB), HasSubstr("(n - 1) / VECTOR_WIDTH_B"));
  for (const ForOperand operand : {ForOperand::kA, ForOperand::kB})
    EXPECT_THAT(text(operand), Not(HasSubstr("$")));
}

TEST(Expand, ANameThatIsNotDefinedIsRefusedWithFileAndLine) {
  EXPECT_THAT(message_of([] {
                expand("common/product.glsl", {}, {{"DOT", "4"}, {"WEB", "1"}});
              }),
              testing::MatchesRegex("templates/common/product.glsl:[0-9]+: 'TYPE' in the condition "
                                    "'WEB && TYPE == U8' is not defined"));
  EXPECT_THAT(message_of([] { expand("absent.comp", {}, {}); }), HasSubstr("absent.comp"));
}

TEST(Expand, AWordThatIsComparedWithNothingIsRefused) {
  EXPECT_THAT(message_of([] {
                expand("epilogue/push.glsl", {}, {{"GROUPED", "NO"}});
              }),
              HasSubstr("the condition 'GROUPED' is a word"));
}

TEST(Expand, AValueThatATemplateDoesNotListIsRefused) {
  EXPECT_THAT(message_of([] {
                expand("epilogue/narrow.glsl", {}, {{"TYPE_C", "I8"}});
              }),
              testing::MatchesRegex("templates/epilogue/narrow.glsl:[0-9]+: C has no such type.*"));
}

TEST(Expand, KeepsWhatHoldsAndBeginsWithCommentAndDefines) {
  const Defines defines = {{"RASTER", "COLUMN"}, {"LANES_M", "4"}, {"UNUSED", "1"}};
  const std::string text = expand("common/raster.glsl", {"a comment"}, defines);
  EXPECT_TRUE(text.starts_with("#version 450\n// a comment\n")) << text;
  EXPECT_THAT(text, Not(HasSubstr("#if")));
  EXPECT_THAT(text, Not(HasSubstr("UNUSED")));
  EXPECT_THAT(text, Not(HasSubstr("//:")));
}

TEST(Expand, TheCommentAtTheHeadOfTheTemplateOpensTheText) {
  const std::string text = expand("gather.comp", {"a comment"}, {{"LOCAL_SIZE", "64"}});
  EXPECT_TRUE(text.starts_with("#version 450\n// y[i] := x[sources[i]], row by row.")) << text;
  EXPECT_THAT(text, HasSubstr("\n//\n// a comment\n#define LOCAL_SIZE 64\n"));
}

class Conditions : public testing::Test {
 protected:
  static std::int64_t value(std::string_view condition) {
    return value_of_condition(condition, [](std::string_view name) {
      return name == "FOUR"     ? std::optional<std::string_view>("4")
             : name == "EIGHT"  ? std::optional<std::string_view>("FOUR * 2")
             : name == "BRANCH" ? std::optional<std::string_view>("FOUR == 4 || FOUR == 5")
                                : std::nullopt;
    });
  }
};

TEST_F(Conditions, HaveTheValuesThatGlslGivesThem) {
  const std::pair<const char*, std::int64_t> known[] = {
      {"FOUR == 4", 1},
      {"FOUR != 4", 0},
      {"EIGHT % 3", 2},
      {"2 + 3 * 4", 14},
      {"(2 + 3) * 4", 20},
      {"7 - 3 - 2", 2},
      {"100 / 10 / 5", 2},
      {"-1 < 0", 1},
      {"!FOUR", 0},
      {"1 || 0 && 0", 1},
      {"(1 || 0) && 0", 0},
      {"3 <= 3 && 3 >= 4", 0},
      {"1 < 2 == 1", 1},
      {"0 ? 1 : 0 ? 2 : 3", 3},
      {"1 ? 2 : 3", 2},
      {"defined(FOUR)", 1},
      {"!defined(FIVE)", 1},
      {"defined FIVE", 0},
      {"!BRANCH", 0},
      {"2 * EIGHT", 16},
      {"EIGHT > FOUR && FOUR > 3", 1},
  };
  for (const auto& [condition, expected] : known)
    EXPECT_EQ(value(condition), expected) << condition;
}

TEST_F(Conditions, NeedOnlyTheNamesThatDecideThem) {
  EXPECT_EQ(value("FOUR == 4 || FIVE"), 1);
  EXPECT_EQ(value("FOUR == 5 && FIVE / 0"), 0);
  EXPECT_EQ(value("FOUR ? 1 : FIVE"), 1);
  EXPECT_THAT(message_of([] { value("FOUR == 4 && FIVE"); }),
              HasSubstr("'FIVE' in the condition 'FOUR == 4 && FIVE' is not defined"));
}

TEST_F(Conditions, WhatIsNoConditionIsRefused) {
  for (const char* condition : {"", "4 +", "(4", "4)", "4 4", "4 ? 5", "4 / 0", "4 % 0", "1.5",
                                "4u", "= 4", "FOUR = 4", "#", "99999999999999999999"})
    EXPECT_THAT(message_of([&] { value(condition); }), HasSubstr("is no condition")) << condition;
}

std::string used(const std::string& text) {
  std::vector<TemplateLine> lines;
  std::istringstream stream(text);
  std::vector<std::string> texts;
  for (std::string line; std::getline(stream, line);) texts.push_back(line);
  for (const std::string& line : texts) lines.push_back(taken_apart(line));
  std::vector<const TemplateLine*> pointers;
  for (const TemplateLine& line : lines) pointers.push_back(&line);
  std::string result;
  for (const TemplateLine* line : used_lines(pointers)) result += std::string(line->text) + "\n";
  return result;
}

TEST(UsedLines, KeepWhatMainUsesDirectlyOrNot) {
  const std::string kept =
      "#define SIZE 4\n"
      "const uint WIDTH = SIZE * 2, HEIGHT = 3;\n"
      "uint area() { return WIDTH; }\n"
      "#define TWICE(x) \\\n"
      "  x * HALF \\\n"
      "  * 4\n"
      "#define HALF 2\n"
      "spirv_instruction(id = 81)\n"
      "float taken(float x,\n"
      "            uint i);\n"
      "void main() {\n"
      "  taken(TWICE(area()), 1);\n"
      "}\n";
  EXPECT_EQ(used(kept), kept);
}

TEST(UsedLines, LeaveOutWhatNothingUsesWithTheCommentInFrontOfIt) {
  EXPECT_EQ(used("// Not needed.\n"
                 "#define SIZE 4\n"
                 "// Only for itself.\n"
                 "uint more(uint x) {\n"
                 "  return x == 0 ? SIZE : more(x - 1);\n"
                 "}\n"
                 "uint more(uvec2 x) { return more(x.x); }\n"
                 "const uint A = 1,\n"
                 "           B = A;\n"
                 "spirv_instruction(id = 81)\n"
                 "float taken(float x);\n"
                 "// more and taken are named in a comment only.\n"
                 "void main() {}\n"),
            "// more and taken are named in a comment only.\n"
            "void main() {}\n");
}

TEST(UsedLines, KeepVariablesBuffersAndDirectives) {
  const std::string kept =
      "#extension GL_KHR_shader_subgroup_basic : enable\n"
      "// Words.\n"
      "layout(binding = 0, std430) readonly buffer Words { uint words[]; };\n"
      "shared uint tile[4];\n"
      "uint k, offset;\n"
      "uint first = min(1, 2);\n"
      "float values[max(3, 4)];\n"
      "// A comment by itself.\n"
      "\n"
      "void main() {}\n";
  EXPECT_EQ(used(kept), kept);
}

}  // namespace
}  // namespace rooftile
