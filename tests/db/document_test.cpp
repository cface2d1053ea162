// Checks the documents of the database: the queries of docs/database.md run and find rows,
// and docs/database-tables.md names every table and view.
#include <gmock/gmock.h>

#include "file_bytes.h"
#include "filled_store.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string document(std::string_view name) {
  return bytes_of_file(std::filesystem::path(ROOFTILE_SOURCE_DIR) / "docs" / name);
}

std::string queries() { return document("database.md"); }

std::vector<std::string> sql_blocks(const std::string& text) {
  const std::string begin = "```sql\n", end = "```";
  std::vector<std::string> blocks;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    blocks.push_back(text.substr(at, text.find(end, at) - at));
  }
  return blocks;
}

/// Adds data that another machine measured.
void import_filled(Store& store, const ScratchFolder& folder) {
  Store other(folder / "other.db");
  const Filled filled = fill_store(other);
  other.export_to(folder / "export.db", std::vector<RowId>{filled.device});
  store.import_from(folder / "export.db");
}

TEST_F(StoreTest, QueriesOfTheDocumentRunAndFindSomething) {
  Store store(file());
  fill_store(store);
  import_filled(store, folder_);
  const std::vector<std::string> blocks = sql_blocks(queries());
  EXPECT_THAT(blocks, SizeIs(14));
  for (const std::string& sql : blocks) EXPECT_THAT(store.query(sql).rows, Not(IsEmpty())) << sql;
}

TEST_F(StoreTest, DocumentNamesEveryTableAndView) {
  Store store(file());
  const std::string text = document("database-tables.md");
  for (const auto& row : store
                             .query("SELECT name FROM sqlite_schema WHERE type IN ('table', "
                                    "'view') AND name NOT LIKE 'sqlite%'")
                             .rows)
    EXPECT_THAT(text, HasSubstr("| `" + row[0] + "`")) << row[0];
}

TEST_F(StoreTest, EveryViewIsInAQueryOfTheDocument) {
  Store store(file());
  for (const auto& row : store.query("SELECT name FROM sqlite_schema WHERE type = 'view'").rows)
    EXPECT_THAT(sql_blocks(queries()), ::testing::Contains(HasSubstr(" " + row[0]))) << row[0];
}

TEST_F(StoreTest, AnswersOfTheDocumentAreRight) {
  Store store(file());
  fill_store(store);
  const std::vector<std::string> blocks = sql_blocks(queries());
  ASSERT_THAT(blocks, SizeIs(14));
  using Rows = std::vector<std::vector<std::string>>;
  const Rows best = store.query(blocks[0]).rows;
  ASSERT_THAT(best, SizeIs(1)) << "the best kernel of the other bucket is not certified";
  EXPECT_EQ(best[0][1], "37");
  EXPECT_EQ(store.query(blocks[2]).rows, (Rows{{"1", "37", "129", "65", "2"},
                                               {"1", "500", "3", "7", "2"},
                                               {"2", "37", "129", "65", "2"}}));
  EXPECT_EQ(store.query(blocks[3]).rows, (Rows{{"16", "4", "300.0"}, {"64", "2", "800.0"}}));
  EXPECT_EQ(store.query(blocks[4]).rows[0][6], "12");
  EXPECT_THAT(store.query(blocks[5]).rows, SizeIs(2));
  EXPECT_EQ(store.query(blocks[6]).rows.size(), 2u);
  EXPECT_EQ(store.query(blocks[10]).rows, (Rows{{"1", "1", "3", "10.0", "71.5"}}));
  const Rows regret = store.query(blocks[11]).rows;
  ASSERT_THAT(regret, SizeIs(1));
  EXPECT_EQ(regret[0][2], "1");
  EXPECT_EQ(regret[0][4], "1.0");
  const Rows counted = store.query(blocks[12]).rows;
  ASSERT_THAT(counted, SizeIs(1)) << "only one counter is in bytes";
  EXPECT_EQ(counted[0][4], "VRAM read size");
  const Rows open = store.query(blocks[13]).rows;
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0][1], "500");
  EXPECT_EQ(open[0][6], "1");
  import_filled(store, folder_);
  const Rows imports = store.query(blocks[7]).rows;
  ASSERT_THAT(imports, SizeIs(1));
  EXPECT_EQ(imports[0][4], "8");
  const Rows fleet = store.query(blocks[8]).rows;
  ASSERT_THAT(fleet, SizeIs(2));
  EXPECT_EQ(fleet[0][4], "12") << "six samples of each machine";
  EXPECT_EQ(fleet[0][7], "840.0");
  EXPECT_THAT(store.query(blocks[9]).rows, SizeIs(1)) << "the other bucket has a certified kernel";
}

}  // namespace
}  // namespace rooftile
