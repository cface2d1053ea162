// Statistics, checks and compaction of the file.
#include <gmock/gmock.h>

#include "db/schema/schema.h"
#include "db/sqlite/connection.h"
#include "filled_store.h"

namespace rooftile {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(StoreTest, StatsCountTheRowsOfEveryTable) {
  Store store(file());
  fill_store(store);
  const StoreStats stats = store.stats();
  std::map<std::string, std::int64_t> counted;
  for (const TableRows& table : stats.tables) counted[table.table] = table.rows;
  std::map<std::string, std::int64_t> expected;
  for (const auto& row :
       store
           .query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
           .rows)
    expected[row[0]] = std::stoll(store.query("SELECT count(*) FROM " + row[0]).rows[0][0]);
  EXPECT_EQ(counted, expected);
  EXPECT_EQ(counted["samples"], 8);
  EXPECT_GT(stats.wal_bytes, 0);
  store.vacuum();
  EXPECT_EQ(store.stats().file_bytes,
            static_cast<std::int64_t>(std::filesystem::file_size(file())));
}

TEST_F(StoreTest, VacuumGivesFreePagesBack) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  {
    Store::Transaction transaction(store);
    for (int m = 1; m <= 2000; ++m) store.log_untuned(device, packed_problem(m, 3, 5));
    transaction.commit();
  }
  Connection(file(), Access::kReadWrite, 1000).database().exec("DELETE FROM untuned_problems");
  const StoreStats before = store.stats();
  EXPECT_GT(before.free_bytes, before.file_bytes / 4);
  store.vacuum();
  const StoreStats after = store.stats();
  EXPECT_EQ(after.free_bytes, 0);
  EXPECT_EQ(after.wal_bytes, 0);
  EXPECT_LE(after.file_bytes, before.file_bytes - before.free_bytes);
  EXPECT_THAT(store.check(), IsEmpty());
  EXPECT_EQ(store.find_device(example_device()), device);
}

TEST_F(StoreTest, CheckNamesWhatIsWrong) {
  Store store(file());
  fill_store(store);
  EXPECT_THAT(store.check(), IsEmpty());
  Connection vandal(file(), Access::kReadWrite, 1000);

  vandal.database().exec("PRAGMA foreign_keys = OFF; DELETE FROM problems WHERE m = 500");
  EXPECT_THAT(store.check(), ElementsAre("1 row of outcomes referring to no row of problems",
                                         "2 rows of samples referring to no row of problems",
                                         "1 row of winners referring to no row of problems"));
  vandal.database().exec(
      "DROP VIEW best_kernels; CREATE VIEW best_kernels AS SELECT 1; DROP INDEX samples_of_run;"
      "CREATE TABLE stray (x)");
  EXPECT_THAT(store.check(),
              ElementsAre("index samples_of_run is missing", "view best_kernels was altered",
                          "table stray is not part of the schema"));
}

}  // namespace
}  // namespace rooftile
