#include "core/text_table.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

TEST(DisplayWidth, CountsColumnsOfATerminal) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("GeForce"), 7u);
  EXPECT_EQ(display_width("Größe"), 5u);
  EXPECT_EQ(display_width("e\u0301"), 1u) << "a combining accent has no column";
  EXPECT_EQ(display_width("\u6d4b\u8bd5"), 4u) << "East Asian characters have two";
  EXPECT_EQ(display_width("\U0001f600"), 2u);
}

TEST(DisplayWidth, CountsInvalidUtf8ByByte) {
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
  EXPECT_EQ(display_width("a\xc3"), 2u) << "cut off";
  EXPECT_EQ(display_width("\xc3("), 2u) << "not continued";
}

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table({{"problem", Align::kLeft}, {"us"}, {"kernel", Align::kLeft}});
  table.add({"1x2x3 nn with a long epilogue", "7.0", "naive"});
  table.add({"Größe \u6d4b\u8bd5", "12345678.9", ""});
  table.add({"short"});
  EXPECT_EQ(table.text("  "),
            "  problem                                us  kernel\n"
            "  1x2x3 nn with a long epilogue         7.0  naive\n"
            "  Größe \u6d4b\u8bd5                     12345678.9\n"
            "  short\n");
}

TEST(TextTable, PrintsAHeaderWithoutRows) {
  const TextTable table({{"a"}, {"b"}});
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.text(), "a  b\n");
}

TextTable wide_table() {
  TextTable table({{"device", Align::kLeft}, {"runs"}, {"driver", Align::kLeft}});
  table.add({"a device with quite a long name", "12", "Mesa 22.3.6"});
  table.add({"Größe测试withoutanyspaceatall", "7", "x"});
  return table;
}

TEST(TextTable, LinesOfATerminalAreBrokenWithinTheirColumns) {
  EXPECT_EQ(wide_table().text("", 36),
            "device             runs  driver\n"
            "a device with        12  Mesa 22.3.6\n"
            "quite a long name\n"
            "Größe测试withouta     7  x\n"
            "nyspaceatall\n");
  EXPECT_EQ(wide_table().text("", 200), wide_table().text());
}

TEST(TextTable, WhatFitsNoTerminalIsAParagraphForEachRow) {
  EXPECT_EQ(wide_table().text(" ", 24),
            " device  a device with\n"
            "         quite a long\n"
            "         name\n"
            " runs    12\n"
            " driver  Mesa 22.3.6\n"
            "\n"
            " device  Größe测试withou\n"
            "         tanyspaceatall\n"
            " runs    7\n"
            " driver  x\n");
}

TEST(TextTable, NoTerminalIsTooNarrowForSomeText) {
  for (std::size_t columns = 1; columns < 80; ++columns)
    EXPECT_FALSE(wide_table().text("  ", columns).empty());
}

}  // namespace
}  // namespace rooftile
