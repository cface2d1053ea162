// Assembly that is cut, damaged or of another kind is refused with the number of a line.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <random>

#include "core/error.h"
#include "inspect/assembly.h"
#include "inspect/main_loop.h"
#include "tests/inspect/excerpt.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Stored {
  AssemblySyntax syntax;
  const char* name;
};
constexpr std::array kStored = {
    Stored{AssemblySyntax::kAco, "aco_f32_tiled"},
    Stored{AssemblySyntax::kAco, "aco_f16_matrix"},
    Stored{AssemblySyntax::kAco, "aco_q4_vector"},
    Stored{AssemblySyntax::kBrw, "brw_f32_tiled"},
    Stored{AssemblySyntax::kBrw, "brw_q4_vector"},
    Stored{AssemblySyntax::kNak, "nak_f32_tiled"},
    Stored{AssemblySyntax::kNak, "nak_f16_matrix"},
    Stored{AssemblySyntax::kNak, "nak_q4_vector"},
    Stored{AssemblySyntax::kSass, "sass_by_hand"},
    Stored{AssemblySyntax::kSass, "sass_f16_matrix"},
    Stored{AssemblySyntax::kSass, "sass_q4_vector"},
};
constexpr std::array kSyntaxes = {AssemblySyntax::kAco, AssemblySyntax::kBrw, AssemblySyntax::kNak,
                                  AssemblySyntax::kSass};

/// The message of the parser's refusal, "" where it accepts the text.
std::string refusal(AssemblySyntax syntax, const std::string& text) {
  const std::string message =
      message_of([&] { main_loop(parse_assembly(syntax, text, {.subgroup_size = 32})); },
                 ErrorCode::kUnsupported);
  EXPECT_THAT(message, AnyOf("", StartsWith("line ")));
  return message;
}

TEST(MalformedTest, EveryCutIsRefused) {
  for (const Stored& stored : kStored) {
    const std::string text = excerpt(stored.name);
    ASSERT_EQ(refusal(stored.syntax, text), "") << stored.name;
    const std::size_t end = text.find_last_not_of('\n') + 1;
    // The last line may lose a part of its comment without harm.
    std::size_t last_line = text.rfind('\n', end - 1);
    // Behind its last function's end SASS has but what fills its memory up.
    if (stored.syntax == AssemblySyntax::kSass) last_line = text.rfind("EXIT");
    for (std::size_t size = 0; size <= last_line; size += 97)
      EXPECT_NE(refusal(stored.syntax, text.substr(0, size)), "") << stored.name << " at " << size;
  }
}

TEST(MalformedTest, TextOfAnotherCompilerIsRefused) {
  for (const Stored& stored : kStored)
    for (const AssemblySyntax syntax : kSyntaxes) {
      if (syntax == stored.syntax) continue;
      EXPECT_NE(refusal(syntax, excerpt(stored.name)), "") << stored.name;
    }
}

TEST(MalformedTest, EmptyTextIsRefused) {
  for (const AssemblySyntax syntax : kSyntaxes) {
    EXPECT_THAT(refusal(syntax, ""), HasSubstr("no instruction"));
    EXPECT_THAT(refusal(syntax, "\n\n"), HasSubstr("no instruction"));
  }
}

TEST(MalformedTest, RandomBytesAreRefused) {
  std::mt19937 random(20);
  for (int i = 0; i < 300; ++i) {
    std::string text(1 + random() % 400, ' ');
    for (char& c : text) c = static_cast<char>(random());
    for (const AssemblySyntax syntax : kSyntaxes) EXPECT_NE(refusal(syntax, text), "");
  }
}

TEST(MalformedTest, DamagedTextIsRefusedOrCounted) {
  std::mt19937 random(7);
  for (const Stored& stored : kStored) {
    const std::string text = excerpt(stored.name);
    for (int i = 0; i < 60; ++i) {
      std::string damaged = text;
      for (int j = 0; j < 3; ++j)
        damaged[random() % damaged.size()] = static_cast<char>(' ' + random() % 95);
      refusal(stored.syntax, damaged);  // It must end, without reading beyond the text.
    }
    std::string lines = text;
    lines.erase(lines.size() / 3, lines.size() / 3);
    refusal(stored.syntax, lines);
  }
}

TEST(MalformedTest, MessagesMustHaveFlags) {
  EXPECT_THAT(refusal(AssemblySyntax::kBrw, "send(6)\nMsgDesc:};\n"), StartsWith("line "));
}

TEST(MalformedTest, JumpsMustHaveTargets) {
  EXPECT_THAT(refusal(AssemblySyntax::kAco, "BB0:\n\ts_branch BB7 ; 0\n\ts_endpgm ; 0\n"),
              HasSubstr("jumps to BB7, which is missing"));
  EXPECT_THAT(refusal(AssemblySyntax::kAco, "BB0:\n\ts_setpc_b64 s[0:1] ; 0\n\ts_endpgm ; 0\n"),
              HasSubstr("an address that the assembly does not show"));
  EXPECT_THAT(refusal(AssemblySyntax::kNak, "block 0 L0 [] -> {\n  exit // delay=5\n} -> [4]\n"),
              HasSubstr("jumps to 4, which is missing"));
  EXPECT_THAT(refusal(AssemblySyntax::kBrw, "jmpi(1)   JIP: LABEL0  UIP: LABEL0   { align1 };\n"),
              HasSubstr("a jump of an unknown kind"));
  EXPECT_THAT(refusal(AssemblySyntax::kAco, "BB0:\nBB0:\n\ts_endpgm ; 0\n"),
              HasSubstr("there twice"));
  EXPECT_THAT(refusal(AssemblySyntax::kSass, "/*0000*/ BRA 0x40;\n/*0010*/ EXIT;\n"),
              HasSubstr("line 1: it jumps to 0x40, which is missing"));
  EXPECT_THAT(refusal(AssemblySyntax::kSass, "/*0000*/ @P0 BRA `(.L_x_9) ;\n/*0010*/ EXIT;\n"),
              HasSubstr("jumps to .L_x_9, which is missing"));
  EXPECT_THAT(refusal(AssemblySyntax::kSass, "/*0000*/ BRX R2 -0x40;\n/*0010*/ EXIT;\n"),
              HasSubstr("an address that the listing does not show"));
}

TEST(MalformedTest, SassOfTwoFunctionsIsRefused) {
  const std::string one = "/*0000*/ MOV R1, R2 ;\n/*0010*/ EXIT ;\n";
  EXPECT_EQ(refusal(AssemblySyntax::kSass, one), "");
  EXPECT_THAT(refusal(AssemblySyntax::kSass, one + one), HasSubstr("line 3: a second function"));
  EXPECT_THAT(refusal(AssemblySyntax::kSass, one + "/*0010*/ EXIT ;\n"), HasSubstr("a second"));
}

TEST(MalformedTest, SassWithoutALargePartIsRefused) {
  EXPECT_EQ(refusal(AssemblySyntax::kSass, "/*0000*/ BRA 0x400;\n/*0400*/ EXIT;\n"), "");
  for (const char* last : {"0410", "ffffffffffffffff"})
    EXPECT_THAT(
        refusal(AssemblySyntax::kSass, fmt::format("/*0000*/ BRA 0x10;\n/*{}*/ EXIT;\n", last)),
        HasSubstr("line 2: more than 64 instructions before it are missing"));
  const std::string at_the_end = "/*fffffffffffffff0*/ MOV R1, R2;\n/*fffffffffffffff8*/ EXIT;\n";
  EXPECT_EQ(refusal(AssemblySyntax::kSass, at_the_end), "");
}

TEST(MalformedTest, ALineOfSassThatIsNoInstructionIsRefused) {
  for (const char* line : {"[B------:R-:W-:-:S04] FFMA R1, R2, R3, R1 ;",
                           "/*ffffffffffffffffffffffff*/ FFMA R1, R2, R3, R1 ;"})
    EXPECT_THAT(refusal(AssemblySyntax::kSass,
                        "/*0000*/ MOV R1, R2 ;\n" + std::string(line) + "\n/*0010*/ EXIT ;\n"),
                HasSubstr("is no instruction of SASS"))
        << line;
}

TEST(MalformedTest, LinesOfWindowsAndAByteOrderMarkAreRead) {
  EXPECT_EQ(refusal(AssemblySyntax::kSass, "\xef\xbb\xbf\t.headerflags\r\n/*0000*/ EXIT ;\r\n"),
            "");
  EXPECT_THAT(refusal(AssemblySyntax::kSass, "/*0000*/ EXIT ;\r\n/*0010*/ MO\rV ;\n"),
              HasSubstr("line 2"));
}

TEST(MalformedTest, LargeAndHostileTextEnds) {
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  for (const AssemblySyntax syntax : kSyntaxes) {
    EXPECT_NE(refusal(syntax, std::string(kBytes, 'A')), "");
    EXPECT_NE(refusal(syntax, "/*0000*/ EXIT;" + std::string(kBytes, ' ') + '\0'), "");
    EXPECT_NE(refusal(syntax, std::string(kBytes, '\n') + '\0'), "");
  }
  std::string jumps;
  for (int i = 0; i < 100'000; ++i) jumps += fmt::format("/*{:x}*/ @P0 BRA 0x{:x};\n", i, i / 2);
  EXPECT_THAT(refusal(AssemblySyntax::kSass, jumps), HasSubstr("more than 16384 jumps"));
}

TEST(MalformedTest, LoopsThatTakeTooLongToCountAreRefused) {
  constexpr int kLoops = 7000;  // each inside of the one before it
  std::string text;
  for (int i = 0; i < kLoops; ++i) text += fmt::format("/*{:x}*/ MOV R1, R2;\n", 16 * i);
  for (int i = 0; i < kLoops; ++i)
    text += fmt::format("/*{:x}*/ @P0 BRA 0x{:x};\n", 16 * (kLoops + i), 16 * (kLoops - 1 - i));
  text += fmt::format("/*{:x}*/ EXIT;\n", 32 * kLoops);
  const Program program = parse_assembly(AssemblySyntax::kSass, text, {.subgroup_size = 32});
  EXPECT_THAT([&] { main_loop(program); },
              ::testing::ThrowsMessage<Error>(HasSubstr("nested too deeply")));
}

}  // namespace
}  // namespace rooftile
