// Which files are opened, made, refused and set aside; what is refused stays as it is, what is
// damaged is never lost.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <random>

#include "child_process.h"
#include "db/schema.h"
#include "file_bytes.h"
#include "store_fixture.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class OpeningTest : public StoreTest {
 protected:
  /// A sound file with one device and enough candidates to fill a few pages.
  void fill(const fs::path& path) {
    Store store(path);
    store.device_id(example_device());
    Store::Transaction transaction(store);
    for (int i = 0; i < 60; ++i) store.candidate_id(example_candidate("hash" + std::to_string(i)));
    transaction.commit();
  }

  /// The file is set aside with its very bytes, and a new one serves in its place.
  void expect_set_aside(const std::string& bytes, OpenCheck check = OpenCheck::kQuick) {
    EXPECT_EQ(
        error_of([&] { Store(file(), {.mode = OpenMode::kReadOnly, .check = check}); }).code(),
        ErrorCode::kDatabase);
    EXPECT_EQ(bytes_of_file(file()), bytes) << "a reader changed it";
    {
      Store store(file(), {.check = check});
      EXPECT_THAT(store.note(), AllOf(HasSubstr(file().string()), HasSubstr(".damaged-")));
      EXPECT_THAT(store.devices(), IsEmpty());
      store.device_id(example_device());
    }
    Store again(file());
    EXPECT_EQ(again.note(), "");
    EXPECT_THAT(again.devices(), SizeIs(1));
    EXPECT_THAT(again.check(), IsEmpty());

    std::vector<std::string> kept;
    for (const auto& [name, content] : contents(folder_.path()))
      if (name.starts_with("rooftile.db.damaged-") && content == hash_hex(bytes))
        kept.push_back(name);
    EXPECT_THAT(kept, SizeIs(1));
  }

  /// Both modes refuse with kDatabase and a message that holds all words; nothing in the folder
  /// changes.
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

TEST_F(OpeningTest, MissingFoldersAreMadePrivate) {
  const mode_t old_mask = ::umask(0);
  const fs::path path = folder_ / "a" / "b" / "rooftile.db";
  { Store store(path); }
  ::umask(old_mask);
  for (const fs::path& folder : {folder_ / "a", folder_ / "a/b"})
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;
}

TEST_F(OpeningTest, ReaderMakesNothing) {
  const Error error = error_of([&] { Store(folder_ / "a" / "rooftile.db", OpenMode::kReadOnly); });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("a/rooftile.db"), HasSubstr("ROOFTILE_DB")));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(OpeningTest, PlacesThatCannotHoldAFileAreNamed) {
  write_file(folder_ / "plain", "x");
  EXPECT_EQ(error_of([] { Store(""); }).code(), ErrorCode::kInvalidArgument);
  for (const fs::path& path : {folder_.path(), folder_ / "plain" / "rooftile.db",
                               fs::path("/proc/rooftile-none/rooftile.db"), fs::path("/dev/full"),
                               fs::path("/dev/null")}) {
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

TEST_F(OpeningTest, NamesThatMeanSomethingToSqliteAreJustNames) {
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
  write_file(folder_ / "target.db", "not a database");
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
  EXPECT_EQ(store.schema_version(), newest_schema_version());
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
  EXPECT_THAT(contents(folder_.path()), SizeIs(1)) << "a log was left behind";
}

// Damage.

TEST_F(OpeningTest, TextFileIsSetAside) {
  for (const std::string text : {"x", "# notes\nbuy a GPU\n"}) {
    write_file(file(), text);
    expect_set_aside(text);
  }
}

TEST_F(OpeningTest, RandomBytesAreSetAside) {
  std::mt19937 random(7);
  std::string bytes(10000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  write_file(file(), bytes);
  expect_set_aside(bytes);
}

TEST_F(OpeningTest, ZeroPagesAreSetAside) {
  const std::string zeros(3 * 4096, '\0');
  write_file(file(), zeros);
  expect_set_aside(zeros);
}

TEST_F(OpeningTest, FileCutShortIsSetAside) {
  fill(file());
  const std::string sound = bytes_of_file(file());
  for (const std::size_t bytes :
       {sound.size() - 1, sound.size() - 4096, sound.size() / 2, std::size_t{99}}) {
    for (const auto& [name, content] : contents(folder_.path())) fs::remove(folder_ / name);
    write_file(file(), sound.substr(0, bytes));
    expect_set_aside(sound.substr(0, bytes));
  }
}

TEST_F(OpeningTest, OverwrittenPageOfASmallFileIsSetAside) {
  fill(file());
  std::string bytes = bytes_of_file(file());
  ASSERT_LE(bytes.size(), 256u << 10);
  std::fill(bytes.begin() + 8 * 4096, bytes.begin() + 9 * 4096, '\x5a');
  write_file(file(), bytes);
  expect_set_aside(bytes);
}

TEST_F(OpeningTest, DamageInABigFileIsFoundByTheFullCheck) {
  {
    Store store(file());
    Store::Transaction transaction(store);
    for (int i = 0; i < 1000; ++i)
      store.candidate_id(example_candidate("hash" + std::to_string(i)));
    transaction.commit();
  }
  std::string bytes = bytes_of_file(file());
  ASSERT_GT(bytes.size(), 256u << 10);
  std::fill(bytes.end() - 2 * 4096, bytes.end() - 4096, '\x5a');
  write_file(file(), bytes);
  EXPECT_THAT(Store(file()).check(), Not(IsEmpty()));
  expect_set_aside(bytes, OpenCheck::kFull);
}

TEST_F(OpeningTest, DamageMetLaterSaysWhatToDo) {
  {
    Store store(file());
    Store::Transaction transaction(store);
    for (int i = 0; i < 1000; ++i)
      store.candidate_id(example_candidate("hash" + std::to_string(i)));
    transaction.commit();
  }
  const std::string root = [&] {
    SQLite::Database database(file().string());
    return database.execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = 'candidates'")
        .getString();
  }();
  std::string bytes = bytes_of_file(file());
  const std::size_t page = (std::stoul(root) - 1) * 4096;
  bytes.replace(page, 4096, std::string(4096, '\x5a'));
  write_file(file(), bytes);
  Store store(file());
  const Error error = error_of([&] { store.candidate(1); });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(file().string()), HasSubstr("rooftile db check")));
}

TEST_F(OpeningTest, CompanionsOfADamagedFileGoWithIt) {
  write_file(file(), "main, and no database");
  write_file(folder_ / "rooftile.db-wal", "log");
  Store store(file());
  EXPECT_THAT(store.check(), IsEmpty());
  std::vector<std::string> kept;
  for (const auto& [name, hash] : contents(folder_.path()))
    if (name.find(".damaged-") != std::string::npos) kept.push_back(bytes_of_file(folder_ / name));
  EXPECT_THAT(kept, ElementsAre("main, and no database", "log"));
}

TEST_F(OpeningTest, NothingThatWasSetAsideIsOverwritten) {
  constexpr int kTimes = 5;  // most of them within one second: equal time stamps
  for (int i = 0; i < kTimes; ++i) {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file().string() + suffix);
    write_file(file(), "damage " + std::to_string(i));
    Store store(file());
  }
  std::vector<std::string> kept;
  for (const auto& [name, hash] : contents(folder_.path()))
    if (name.find(".damaged-") != std::string::npos) kept.push_back(bytes_of_file(folder_ / name));
  EXPECT_THAT(kept, ::testing::UnorderedElementsAre("damage 0", "damage 1", "damage 2", "damage 3",
                                                    "damage 4"));
}

// Files that are not ours to touch.

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
    ::_exit(0);  // without closing: its log stays
  })).wait();
  ASSERT_GT(fs::file_size(folder_ / "rooftile.db-wal"), 0u);
  expect_refused({"another program"});
}

TEST_F(OpeningTest, NewerFileIsRefused) {
  fill(file());
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  expect_refused({"99", std::to_string(newest_schema_version()), "update Rooftile"});
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

// Older files.

TEST_F(OpeningTest, OlderFileIsMigratedWithItsRows) {
  {
    Connection connection(file(), Access::kReadWrite, 1000);
    migrate(connection, 1);
    connection.database().exec("INSERT INTO calibrations (device_id) VALUES (7)");
  }
  const Error error = error_of([&] { Store(file(), OpenMode::kReadOnly); });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("version 1"), HasSubstr("rooftile tune")));
  {
    Store store(file());
    EXPECT_EQ(store.note(), "");
    EXPECT_EQ(store.schema_version(), newest_schema_version());
    EXPECT_THAT(store.query("SELECT * FROM calibrations").rows, SizeIs(1));
    EXPECT_THAT(store.query("SELECT * FROM best_kernels").rows, IsEmpty());
  }
  Store store(file(), OpenMode::kReadOnly);
}

TEST_F(OpeningTest, FailedMigrationLeavesTheOldVersion) {
  {
    Connection connection(file(), Access::kReadWrite, 1000);
    migrate(connection, 1);
    connection.database().exec("CREATE TABLE rejected_kernels (x)");  // in the way of the last view
  }
  EXPECT_EQ(error_of([&] { Store store(file()); }).code(), ErrorCode::kDatabase);
  Connection connection(file(), Access::kReadWrite, 1000);
  EXPECT_EQ(connection.integer("PRAGMA user_version"), 1);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'view'"), 0);
}

// Permissions bind only those who are not root, so a child gives root up where the test has it.

/// Becomes somebody without rights, in a folder that was handed to them.
void give_up_root(const fs::path& folder) {
  if (::geteuid() != 0) return;
  constexpr uid_t kNobody = 65534;
  for (const auto& entry : fs::directory_iterator(folder))
    if (::chown(entry.path().c_str(), kNobody, kNobody) != 0)
      throw std::runtime_error("chown failed");
  if (::chown(folder.c_str(), kNobody, kNobody) != 0 || ::setgid(kNobody) != 0 ||
      ::setuid(kNobody) != 0)
    throw std::runtime_error("cannot give up root");
}

TEST_F(OpeningTest, ReadOnlyFileIsNamedWithARemedy) {
  fill(file());
  EXPECT_EQ(ChildProcess([&] {
              give_up_root(folder_.path());
              fs::permissions(file(), fs::perms::owner_read);
              const Error error = error_of([&] { Store store(file()); });
              EXPECT_EQ(error.code(), ErrorCode::kDatabase);
              EXPECT_THAT(error.what(), AllOf(HasSubstr(file().string()), HasSubstr("read-only"),
                                              HasSubstr("ROOFTILE_DB")));
              EXPECT_THAT(Store(file(), OpenMode::kReadOnly).devices(), SizeIs(1));
            }).wait(),
            0);
}

TEST_F(OpeningTest, ReadOnlyFolderCanBeReadFromAndNotWrittenTo) {
  fill(file());
  write_file(folder_ / "damaged.db", "not a database");
  EXPECT_EQ(ChildProcess([&] {
              give_up_root(folder_.path());
              const fs::perms no_writing = fs::perms::owner_read | fs::perms::owner_exec;
              fs::permissions(folder_.path(), no_writing);
              for (const char* name : {"rooftile.db", "new.db", "damaged.db", "sub/new.db"}) {
                const Error error = error_of([&] { Store store(folder_ / name); });
                EXPECT_TRUE(error.code() == ErrorCode::kIo || error.code() == ErrorCode::kDatabase)
                    << error.what();
                EXPECT_THAT(error.what(), HasSubstr(folder_.path().string()));
              }
              EXPECT_EQ(bytes_of_file(folder_ / "damaged.db"), "not a database");
              Store store(file(), OpenMode::kReadOnly);
              EXPECT_THAT(store.devices(), SizeIs(1));
              EXPECT_THAT(store.query("SELECT * FROM devices").rows, SizeIs(1));
              fs::permissions(folder_.path(), fs::perms::owner_all);
            }).wait(),
            0);
}

TEST_F(OpeningTest, FileThatMayNotBeReadIsNamed) {
  fill(file());
  EXPECT_EQ(ChildProcess([&] {
              give_up_root(folder_.path());
              fs::permissions(file(), fs::perms::none);
              for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
                const Error error = error_of([&] { Store(file(), mode); });
                EXPECT_EQ(error.code(), ErrorCode::kIo);
                EXPECT_THAT(error.what(),
                            AllOf(HasSubstr(file().string()), HasSubstr("ROOFTILE_DB")));
              }
            }).wait(),
            0);
}

class DefaultPathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable : {"ROOFTILE_DB", "XDG_DATA_HOME", "HOME"}) {
      const char* value = std::getenv(variable);
      saved_[variable] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      ::unsetenv(variable);
    }
  }
  void TearDown() override {
    for (const auto& [variable, value] : saved_)
      value ? ::setenv(variable.c_str(), value->c_str(), 1) : ::unsetenv(variable.c_str());
  }
  std::map<std::string, std::optional<std::string>> saved_;
};

TEST_F(DefaultPathTest, FirstVariableThatIsSetWins) {
  EXPECT_TRUE(default_database_path().is_absolute());  // from the user's entry
  ::setenv("HOME", "/home/x", 1);
  EXPECT_EQ(default_database_path(), "/home/x/.local/share/rooftile/rooftile.db");
  ::setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_EQ(default_database_path(), "/home/x/.local/share/rooftile/rooftile.db");
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_database_path(), "/data/rooftile/rooftile.db");
  ::setenv("ROOFTILE_DB", "", 1);
  EXPECT_EQ(default_database_path(), "/data/rooftile/rooftile.db");
  ::setenv("ROOFTILE_DB", "here.db", 1);
  EXPECT_EQ(default_database_path(), "here.db");
}

}  // namespace
}  // namespace rooftile
