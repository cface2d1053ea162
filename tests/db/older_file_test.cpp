// Readers of a file with an older schema see the same data as after a migration, and leave the
// file unchanged for programs of its version.
#include "db/open/older_file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <fstream>

#include "child_process.h"
#include "file_bytes.h"
#include "filled_store.h"
#include "older_database.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kBeforePurpose = 6, kBeforeOrigins = 3;

class OlderFileTest : public StoreTest {
 protected:
  void SetUp() override {
    Store store(newest());
    filled_ = fill_store(store);
  }
  fs::path newest() const { return folder_ / "newest.db"; }
  void write(int schema_version) {
    fs::remove(file());
    write_older(newest(), file(), schema_version);
  }
  int version_in_file() const {
    Connection connection(file(), Access::kReadOnly, 1000);
    return static_cast<int>(connection.integer("PRAGMA user_version"));
  }

  Filled filled_;
};

TEST_F(OlderFileTest, ReaderSeesItsRowsAndLeavesItAsItIs) {
  const Store up_to_date(newest(), OpenMode::kReadOnly);
  EXPECT_FALSE(up_to_date.older());
  for (int version = 1; version < newest_schema_version(); ++version) {
    SCOPED_TRACE(version);
    write(version);
    const auto before = contents(folder_.path());
    {
      const Store store(file(), OpenMode::kReadOnly);
      EXPECT_TRUE(store.older());
      EXPECT_EQ(store.note(), "");
      EXPECT_EQ(store.path(), fs::canonical(file()));
      EXPECT_EQ(store.schema_version(), version);
      ASSERT_THAT(store.devices(), SizeIs(1));
      EXPECT_EQ(store.devices().front().profile.name, filled_.profile.name);
      EXPECT_THAT(store.tuned_kernels(filled_.device, "1.0"),
                  SizeIs(up_to_date.tuned_kernels(filled_.device, "1.0").size()));
      EXPECT_EQ(store.latest_calibration(filled_.device).size(), 2u);
      EXPECT_THAT(store.black_listed(filled_.device), SizeIs(1));
      EXPECT_THAT(store.untuned_problems(filled_.device), SizeIs(1));
      const std::string best = "SELECT bucket, m, kernel, gflops, certified FROM best_kernels";
      EXPECT_EQ(store.query(best).rows, up_to_date.query(best).rows);
      EXPECT_THAT(store.check(), IsEmpty());
      const StoreStats stats = store.stats();
      EXPECT_EQ(static_cast<std::uintmax_t>(stats.file_bytes), fs::file_size(file()));
      EXPECT_THAT(stats.tables, SizeIs(up_to_date.stats().tables.size()));
    }
    EXPECT_EQ(contents(folder_.path()), before);
    EXPECT_EQ(version_in_file(), version);
  }
}

TEST_F(OlderFileTest, ReaderCannotWriteIntoItsCopy) {
  write(kBeforePurpose);
  Store store(file(), OpenMode::kReadOnly);
  EXPECT_EQ(error_of([&] { store.device_id(example_device("another")); }).code(),
            ErrorCode::kDatabase);
  EXPECT_EQ(error_of([&] { store.query("DELETE FROM winners"); }).code(), ErrorCode::kDatabase);
  EXPECT_THAT(store.query("SELECT * FROM winners").rows, SizeIs(3));
}

TEST_F(OlderFileTest, ReaderSeesWhatIsInTheLogOfAnOlderProgram) {
  write(kBeforePurpose);
  ChildProcess(([&] {
    SQLite::Database database(file().string(), SQLite::OPEN_READWRITE);
    database.exec("UPDATE devices SET name = 'renamed'");
    ::_exit(0);  // ends without closing, so that the log remains
  })).wait();
  ASSERT_GT(fs::file_size(folder_ / "rooftile.db-wal"), 0u);
  const auto before = contents(folder_.path());
  {
    const Store store(file(), OpenMode::kReadOnly);
    EXPECT_EQ(store.devices().front().profile.name, "renamed");
  }
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(OlderFileTest, WriterOfItsVersionGoesOnBesideAReader) {
  write(kBeforePurpose);
  SQLite::Database older(file().string(), SQLite::OPEN_READWRITE);
  older.exec("BEGIN IMMEDIATE; UPDATE devices SET name = 'not committed'");
  const Store store(file(), {.mode = OpenMode::kReadOnly, .busy_timeout_ms = 0});
  older.exec("COMMIT");
  older.exec("INSERT INTO runs (device_id, generator_version, settings) VALUES (1, '0.9', '{}')");
  EXPECT_EQ(store.devices().front().profile.name, filled_.profile.name);
  EXPECT_EQ(version_in_file(), kBeforePurpose);
}

TEST_F(OlderFileTest, WriterStillMigratesIt) {
  write(kBeforePurpose);
  { Store store(file()); }
  EXPECT_EQ(version_in_file(), newest_schema_version());
  EXPECT_FALSE(Store(file(), OpenMode::kReadOnly).older());
}

TEST_F(OlderFileTest, LargeOneIsNotCopied) {
  write(kBeforePurpose);
  {
    SQLite::Database database(file().string(), SQLite::OPEN_READWRITE);
    database.exec("CREATE TABLE filling (x); INSERT INTO filling VALUES (zeroblob(" +
                  std::to_string(kMostCopiedBytes) + "))");
  }
  const auto before = contents(folder_.path());
  const Error error = error_of([&] { Store(file(), OpenMode::kReadOnly); });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr(file().string()), HasSubstr("version 6"), HasSubstr("db vacuum")));
  EXPECT_EQ(contents(folder_.path()), before);
}

// This includes data that the next migration corrects.
TEST_F(OlderFileTest, CheckTellsWhatIsWrongWithTheFileItself) {
  write(kBeforeOrigins);
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
      .exec("DROP VIEW device_report; CREATE VIEW device_report AS SELECT 1 AS device");
  const Store store(file(), OpenMode::kReadOnly);
  EXPECT_THAT(store.check(), ElementsAre("view device_report was altered"));
}

TEST_F(OlderFileTest, OneThatCannotBeMigratedIsAnError) {
  write(kBeforePurpose);
  // Adds a column whose name the next migration uses.
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
      .exec("ALTER TABLE samples ADD COLUMN purpose TEXT");
  const auto before = contents(folder_.path());
  const Error error = error_of([&] { Store(file(), OpenMode::kReadOnly); });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(), HasSubstr(file().string()));
  EXPECT_EQ(contents(folder_.path()), before);
}

// Only a migration reads this page: larger files are not read completely when they are opened.
TEST_F(OlderFileTest, DamageThatMigratingFindsIsCalledDamage) {
  write(kBeforePurpose);
  std::int64_t page = 0;
  {
    SQLite::Database database(file().string(), SQLite::OPEN_READWRITE);
    database.exec(
        "PRAGMA journal_mode = DELETE;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        "INSERT INTO samples (run_id, candidate_id, problem_id, status, measurements, kernel_ns,"
        " kernel_mad_ns, kernel_low_ns, kernel_high_ns, pack_ns, compile_ns, detail)"
        " SELECT 1, 1, 1, 'timed out', 0, 0, 0, 0, 0, 0, 0, 'some text' FROM n");
    page =
        database.execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = 'samples'").getInt64();
  }
  ASSERT_GT(fs::file_size(file()), std::uintmax_t{1} << 20);
  {
    std::fstream bytes(file(), std::ios::binary | std::ios::in | std::ios::out);
    constexpr int kPageBytes = 4096;
    bytes.seekp((page - 1) * kPageBytes);
    bytes << std::string(kPageBytes, 'x');
  }
  const Error error = error_of([&] { Store(file(), OpenMode::kReadOnly); });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(file().string()), HasSubstr("starts a new one")));
}

TEST_F(OlderFileTest, ExportOfOneIsTheSameEveryTimeAndAfterMigrating) {
  for (const int version : {kBeforeOrigins, kBeforePurpose}) {
    SCOPED_TRACE(version);
    write(version);
    const std::vector<RowId> devices = {filled_.device};
    Store(file(), OpenMode::kReadOnly).export_to(folder_ / "first.db", devices);
    Store(file(), OpenMode::kReadOnly).export_to(folder_ / "second.db", devices);
    EXPECT_EQ(version_in_file(), version);
    Store(file()).export_to(folder_ / "migrated.db", devices);
    fs::remove(folder_ / "elsewhere.db");
    Store elsewhere(folder_ / "elsewhere.db");
    const ImportReport report = elsewhere.import_from(folder_ / "first.db");
    EXPECT_EQ(report.runs, 2);
    EXPECT_GT(report.winners, 0);
    EXPECT_FALSE(brought_anything(elsewhere.import_from(folder_ / "second.db")));
    EXPECT_FALSE(brought_anything(elsewhere.import_from(folder_ / "migrated.db")));
  }
}

}  // namespace
}  // namespace rooftile
