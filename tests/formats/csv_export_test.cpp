#include "formats/csv_export.h"

#include <gmock/gmock.h>

#include "tests/formats/formats_fixture.h"

namespace rooftile {
namespace {

using CsvExportTest = FormatsTest;
using Table = std::vector<std::vector<std::string>>;

/// Reads RFC 4180.
Table parsed(const std::string& text) {
  Table table(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      table.back().back() += text[i++];
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && c == ',')
      table.back().emplace_back();
    else if (!quoted && c == '\n')
      table.push_back({""});
    else
      table.back().back() += c;
  }
  table.pop_back();
  return table;
}

TEST_F(CsvExportTest, EveryRowHasEveryColumnWhateverTheTextHolds) {
  Store store(file("ours.db"));
  const std::vector<RowId> devices = {fill(store)};
  std::string text;
  const std::size_t rows =
      export_csv(store, {.devices = devices}, [&](std::string_view piece) { text += piece; });
  EXPECT_EQ(rows, 16u);
  const Table table = parsed(text);
  ASSERT_EQ(table.size(), 17u);
  const std::vector<std::string>& header = table.front();
  for (const std::vector<std::string>& row : table) EXPECT_EQ(row.size(), header.size());
  const auto cell = [&](std::size_t row, const char* column) {
    return table[row][static_cast<std::size_t>(std::ranges::find(header, column) - header.begin())];
  };
  EXPECT_EQ(cell(1, "device"), measured_device().name);
  EXPECT_EQ(cell(1, "driver"), measured_device().driver_info);
  EXPECT_EQ(cell(1, "m"), "65");
  EXPECT_EQ(cell(1, "trans_b"), "t");
  EXPECT_EQ(cell(1, "status"), "measured");
  EXPECT_EQ(std::stod(cell(1, "kernel_ns")), 1234.5678901234567);
  EXPECT_EQ(cell(1, "reg_m"), "4");
  EXPECT_EQ(cell(4, "status"), "compile failed");
  EXPECT_EQ(cell(4, "kernel_ns"), "");
  EXPECT_EQ(cell(4, "detail"), "the \"driver\" said, a\nline");
  EXPECT_EQ(cell(9, "epilogue"), "bias_column+relu");
  EXPECT_EQ(header.back(), parameter_names().back());
}

}  // namespace
}  // namespace rooftile
