// Which files are opened, created, refused or set aside. A refused file stays unchanged, and a
// damaged file is never lost.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "child_process.h"
#include "db/open/database_path.h"
#include "db/schema/schema.h"
#include "file_bytes.h"
#include "store_fixture.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OpeningTest : public StoreTest {
 protected:
  /// Expects kDatabase in both modes, with a message that contains all words, and an unchanged
  /// folder.
  void expect_refused(const std::vector<std::string>& words) {
    const auto before = contents(folder_.path());
    for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
      const Error error = error_of([&] { Store(file(), mode); });
      EXPECT_EQ(error.code(), ErrorCode::kDatabase);
      EXPECT_THAT(error.what(), HasSubstr(file().string()));
      for (const std::string& word : words) EXPECT_THAT(error.what(), HasSubstr(word));
    }
    EXPECT_EQ(contents(folder_.path()), before);
  }
};

TEST_F(OpeningTest, FoldersOfTheDefaultFileAreMadePrivate) {
  const ScopedEnvironment data("XDG_DATA_HOME", (folder_ / "a").string()), none("ROOFTILE_DB", "");
  const mode_t old_mask = ::umask(0);
  { Store store(default_database_path()); }
  ::umask(old_mask);
  for (const fs::path& folder : {folder_ / "a", folder_ / "a/rooftile"})
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;
}

TEST_F(OpeningTest, FoldersOfAFileThatIsNamedAreNotMade) {
  const fs::path path = folder_ / "a" / "b" / "rooftile.db";
  const ScopedEnvironment named("ROOFTILE_DB", path.string());
  for (const fs::path& given : {path, default_database_path()}) {
    const Error error = error_of([&] { Store store(given); });
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(),
                HasSubstr(fmt::format("there is no folder {} for a tuning database; make it",
                                      path.parent_path().string())));
    EXPECT_TRUE(fs::is_empty(folder_.path()));
  }
}

TEST_F(OpeningTest, AReaderCreatesNoFile) {
  for (const auto& [path, says] : {std::pair("rooftile.db", "`rooftile tune` makes one"),
                                   std::pair("a/rooftile.db", "there is no folder")}) {
    const Error error = error_of([&, path = path] { Store(folder_ / path, OpenMode::kReadOnly); });
    EXPECT_EQ(error.code(), ErrorCode::kDatabase);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(says), HasSubstr("ROOFTILE_DB")));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  write_file(folder_ / "empty.db", "");
  EXPECT_THAT(error_of([&] { Store(folder_ / "empty.db", OpenMode::kReadOnly); }).what(),
              HasSubstr("empty.db is empty; `rooftile tune` fills it"));
  EXPECT_EQ(fs::file_size(folder_ / "empty.db"), 0u);
}

TEST_F(OpeningTest, PathsThatCannotHoldAFileAreNamed) {
  write_file(folder_ / "plain", "x");
  EXPECT_EQ(error_of([] { Store(""); }).code(), ErrorCode::kInvalidArgument);
  for (const fs::path& path :
       {folder_.path(), folder_ / "plain" / "rooftile.db",
        fs::path("/proc/rooftile-none/rooftile.db"), folder_ / std::string(5000, 'x'),
        fs::path("/dev/full"), fs::path("/dev/null")}) {
    for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
      const Error error = error_of([&] { Store(path, mode); });
      EXPECT_TRUE(error.code() == ErrorCode::kIo ||
                  (mode == OpenMode::kReadOnly && error.code() == ErrorCode::kDatabase))
          << path << name(error.code());
      EXPECT_THAT(error.what(), HasSubstr("ROOFTILE_DB")) << path;
    }
  }
  EXPECT_EQ(bytes_of_file(folder_ / "plain"), "x");
}

TEST_F(OpeningTest, SpecialSqliteNamesAreOrdinaryFileNames) {
  const fs::path old = fs::current_path();
  fs::current_path(folder_.path());
  for (const char* odd :
       {":memory:", "file:x?mode=ro", "100%#?.db", "q'uo\"te <b>.db", "-\u00fc\u4e2d.db"}) {
    { Store(odd).device_id(example_device()); }
    EXPECT_TRUE(fs::is_regular_file(folder_ / odd)) << odd;
    EXPECT_THAT(Store(odd, OpenMode::kReadOnly).devices(), SizeIs(1)) << odd;
    EXPECT_THAT(Store(odd, OpenMode::kReadOnly).query("SELECT * FROM devices").rows, SizeIs(1))
        << odd;
  }
  fs::current_path(old);
}

TEST_F(OpeningTest, LinkIsFollowed) {
  write_file(folder_ / "target.db", damaged_database(""));
  fs::create_symlink(folder_ / "target.db", file());
  Store store(file());
  EXPECT_EQ(store.path(), fs::canonical(folder_ / "target.db"));
  EXPECT_THAT(store.note(), HasSubstr("target.db.damaged-"));
  EXPECT_TRUE(fs::is_symlink(file()));
}

TEST_F(OpeningTest, EmptyFileIsANewOne) {
  write_file(file(), "");
  Store store(file());
  EXPECT_EQ(store.note(), "");
  EXPECT_EQ(store.schema_version(), kSchemaVersion);
}

TEST_F(OpeningTest, OpeningAnUpToDateFileChangesNothing) {
  fill(file());
  const auto before = contents(folder_.path());
  { Store store(file()); }
  { Store store(file(), OpenMode::kReadOnly); }
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(OpeningTest, FileIsOneAfterClosing) {
  fill(file());
  EXPECT_THAT(contents(folder_.path()), SizeIs(1)) << "a log remains";
}

// Files that do not belong to Rooftile.

TEST_F(OpeningTest, FileOfAnotherProgramIsRefused) {
  for (const char* sql :
       {"CREATE TABLE notes (text)", "PRAGMA application_id = 1234", "PRAGMA user_version = 3",
        "PRAGMA journal_mode = WAL; CREATE TABLE notes (text)"}) {
    fs::remove(file());
    SQLite::Database(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
    expect_refused({"another program", "ROOFTILE_DB"});
  }
}

TEST_F(OpeningTest, LogOfAnotherProgramIsNotWrittenBack) {
  ChildProcess(([&] {
    SQLite::Database database(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE notes (text)");
    ::_exit(0);  // ends without closing, so that the log remains
  })).wait();
  ASSERT_GT(fs::file_size(folder_ / "rooftile.db-wal"), 0u);
  expect_refused({"another program"});
}

TEST_F(OpeningTest, NewerFileIsRefused) {
  fill(file());
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  expect_refused({"99", std::to_string(kSchemaVersion), "update Rooftile"});
}

TEST_F(OpeningTest, NewerFileIsRefusedThoughItsSchemaIsBeyondThisSqlite) {
  fill(file());
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
      .exec(
          "PRAGMA user_version = 99; PRAGMA writable_schema = ON;"
          "UPDATE sqlite_schema SET sql = 'CREATE VIEW FROM THE FUTURE' WHERE name = "
          "'best_kernels'");
  expect_refused({"99", "update Rooftile"});
}

TEST_F(OpeningTest, FileOfBeforeTheFirstReleaseIsLeftAlone) {
  fill(file());
  const auto label = [&](int version) {
    SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
        .exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kIdBeforeRelease,
                          version));
  };
  label(12);
  expect_refused({"before Rooftile 0.1.0", "into another folder", "`rooftile db import`"});
  label(11);
  expect_refused({"before Rooftile 0.1.0", "version 11", "only version 12", "tune anew"});
}

TEST_F(OpeningTest, ASchemaThatCannotBeCreatedLeavesTheFileEmpty) {
  constexpr int kPages = 20;  // Half of the schema's.
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  Connection connection(file(), Access::kReadWrite, 1000);
  connection.database().exec(fmt::format("PRAGMA max_page_count = {}", kPages));
  EXPECT_THROW(create_schema(connection), SQLite::Exception);
  EXPECT_EQ(connection.integer("PRAGMA user_version"), 0);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM sqlite_schema"), 0);
}

}  // namespace
}  // namespace rooftile
