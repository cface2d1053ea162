// A damaged file is renamed unchanged, a new file replaces it, and the program can report this.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <random>

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

class DamagedFileTest : public StoreTest {
 protected:
  /// Expects that the damaged file is renamed unchanged and that a new file replaces it.
  void expect_set_aside(const std::string& bytes, OpenCheck check = OpenCheck::kQuick) {
    EXPECT_EQ(
        error_of([&] { Store(file(), {.mode = OpenMode::kReadOnly, .check = check}); }).code(),
        ErrorCode::kDatabase);
    EXPECT_EQ(bytes_of_file(file()), bytes) << "a reader changed the file";
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
    expect_kept(bytes);
  }
  /// One file that was set aside has these bytes.
  void expect_kept(const std::string& bytes) const {
    std::vector<std::string> kept;
    for (const auto& [name, content] : contents(folder_.path()))
      if (name.starts_with("rooftile.db.damaged-") && content == hash_hex(bytes))
        kept.push_back(name);
    EXPECT_THAT(kept, SizeIs(1));
  }
  void fill_big() {
    Store store(file());
    Store::Transaction transaction(store);
    for (int i = 0; i < 1000; ++i)
      store.candidate_id(example_candidate("hash" + std::to_string(i)));
    transaction.commit();
  }
};

TEST_F(DamagedFileTest, FilesWithoutRooftilesApplicationIdAreRefusedUnchanged) {
  std::mt19937 random(7);
  std::string noise(10000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  fill(file());
  const std::string ours = bytes_of_file(file());
  std::string other_program = ours;
  other_program.replace(68, 4, "abcd");
  std::string without_magic = ours;
  without_magic.replace(0, 6, "sqlite");
  for (const std::string& bytes :
       {std::string("x"), std::string("# notes\nbuy a GPU\n"), noise, std::string(3 * 4096, '\0'),
        other_program.substr(0, ours.size() / 2), other_program.substr(0, 99), without_magic,
        ours.substr(0, 71)}) {
    write_file(file(), bytes);
    const auto before = contents(folder_.path());
    for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
      const Error error = error_of([&] { Store(file(), mode); });
      EXPECT_EQ(error.code(), ErrorCode::kDatabase);
      EXPECT_THAT(error.what(), AllOf(HasSubstr(file().string()), HasSubstr("left as it is"),
                                      HasSubstr("another file with ROOFTILE_DB or --db")));
    }
    EXPECT_EQ(contents(folder_.path()), before);
  }
}

TEST_F(DamagedFileTest, FileCutShortIsSetAside) {
  fill(file());
  const std::string sound = bytes_of_file(file());
  for (const std::size_t bytes :
       {sound.size() - 1, sound.size() - 4096, sound.size() / 2, std::size_t{99}}) {
    for (const auto& [name, content] : contents(folder_.path())) fs::remove(folder_ / name);
    write_file(file(), sound.substr(0, bytes));
    expect_set_aside(sound.substr(0, bytes));
  }
}

TEST_F(DamagedFileTest, OverwrittenPageOfASmallFileIsSetAside) {
  fill(file());
  std::string bytes = bytes_of_file(file());
  ASSERT_LE(bytes.size(), 512u << 10);
  std::fill(bytes.begin() + 8 * 4096, bytes.begin() + 9 * 4096, '\x5a');
  write_file(file(), bytes);
  expect_set_aside(bytes);
}

/// A value that a CHECK forbids, in a file that is sound otherwise.
void break_a_rule(const fs::path& file) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  database.exec("PRAGMA ignore_check_constraints = ON");
  database.exec("UPDATE devices SET memory_bytes = -1");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}

TEST_F(DamagedFileTest, ReadersNameAValueThatBreaksARuleOfItsTable) {
  fill(file());
  break_a_rule(file());
  const Store reader(file(), OpenMode::kReadOnly);
  EXPECT_THAT(reader.check(), ElementsAre(HasSubstr("CHECK constraint failed in devices")));
  const Error error = error_of([&] {
    reader.export_to(folder_ / "export.db", std::vector<RowId>{reader.devices().front().id});
  });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(file().string()), HasSubstr("rooftile db check")));
  EXPECT_FALSE(fs::exists(folder_ / "export.db"));

  Store other(folder_ / "other.db");
  EXPECT_THAT(error_of([&] { other.import_from(file()); }).what(), HasSubstr("CHECK"));
}

TEST_F(DamagedFileTest, FileWithAValueThatBreaksARuleIsSetAside) {
  fill(file());
  break_a_rule(file());
  const std::string bytes = bytes_of_file(file());
  {
    Store store(file());
    EXPECT_THAT(store.note(), AllOf(HasSubstr("CHECK constraint"), HasSubstr(".damaged-")));
    EXPECT_THAT(store.devices(), IsEmpty());
    EXPECT_THAT(store.check(), IsEmpty());
  }
  expect_kept(bytes);
}

TEST_F(DamagedFileTest, DamageInABigFileIsFoundByTheFullCheck) {
  fill_big();
  std::string bytes = bytes_of_file(file());
  ASSERT_GT(bytes.size(), 512u << 10);
  std::fill(bytes.end() - 2 * 4096, bytes.end() - 4096, '\x5a');
  write_file(file(), bytes);
  EXPECT_THAT(Store(file()).check(), Not(IsEmpty()));
  expect_set_aside(bytes, OpenCheck::kFull);
}

TEST_F(DamagedFileTest, DamageFoundLaterNamesTheRemedy) {
  fill_big();
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

TEST_F(DamagedFileTest, CompanionsOfADamagedFileGoWithIt) {
  const std::string damaged = damaged_database("main");
  write_file(file(), damaged);
  write_file(folder_ / "rooftile.db-wal", "log");
  Store store(file());
  EXPECT_THAT(store.check(), IsEmpty());
  std::vector<std::string> kept;
  for (const auto& [name, hash] : contents(folder_.path()))
    if (name.find(".damaged-") != std::string::npos) kept.push_back(bytes_of_file(folder_ / name));
  EXPECT_THAT(kept, ElementsAre(damaged, "log"));
}

TEST_F(DamagedFileTest, SetAsideFilesAreNotOverwritten) {
  constexpr int kTimes = 5;  // Most of them happen within one second, with equal time stamps.
  for (int i = 0; i < kTimes; ++i) {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file().string() + suffix);
    write_file(file(), damaged_database(std::to_string(i)));
    Store store(file());
  }
  std::vector<std::string> kept;
  for (const auto& [name, hash] : contents(folder_.path()))
    if (name.find(".damaged-") != std::string::npos) kept.push_back(bytes_of_file(folder_ / name));
  EXPECT_THAT(kept, ::testing::UnorderedElementsAre(damaged_database("0"), damaged_database("1"),
                                                    damaged_database("2"), damaged_database("3"),
                                                    damaged_database("4")));
}

}  // namespace
}  // namespace rooftile
