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

}  // namespace
}  // namespace rooftile
