// Files of other users, and pipes, in the place of the files that SQLite opens beside a database.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>

#include "child_process.h"
#include "db/sqlite/connection.h"
#include "file_bytes.h"
#include "store_fixture.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::array kSuffixes = {"-wal", "-shm", "-journal"};
constexpr uid_t kNobody = 65534, kSomebody = 65533;

class SidecarsTest : public StoreTest {
 protected:
  fs::path beside(const char* suffix) const { return file() += suffix; }
  void expect_refused(const fs::path& sidecar, const char* why) {
    const auto expect_named = [&](const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr(sidecar.string()), HasSubstr(why), HasSubstr("remove it")));
    };
    for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly})
      expect_named(error_of([&] { Store(file(), mode); }));
    Store other(folder_ / "other.db");
    expect_named(error_of([&] { other.import_from(file()); }));
  }
};

TEST_F(SidecarsTest, WhatIsNoRegularFileIsRefused) {
  fill(file());
  for (const char* suffix : kSuffixes) {
    ASSERT_EQ(::mkfifo(beside(suffix).c_str(), 0600), 0);
    expect_refused(beside(suffix), "not a regular file");
    fs::remove(beside(suffix));
    fs::create_symlink(folder_ / "elsewhere", beside(suffix));
    expect_refused(beside(suffix), "not a regular file");
    fs::remove(beside(suffix));
  }
  EXPECT_THAT(Store(file()).devices(), SizeIs(1));
}

TEST_F(SidecarsTest, TheFilesBesideALinksTargetCount) {
  fill(folder_ / "target.db");
  fs::create_symlink(folder_ / "target.db", file());
  ASSERT_EQ(::mkfifo((folder_ / "target.db-wal").c_str(), 0600), 0);
  expect_refused(folder_ / "target.db-wal", "not a regular file");
}

/// The folder belongs to root, and there are files of two other users.
class SidecarsOfOthersTest : public SidecarsTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs the rights to make files of other users";
    fill(file());
  }
  void make_folder(mode_t mode) { ASSERT_EQ(::chmod(folder_.path().c_str(), mode), 0); }
  void make_sidecar(const char* suffix, uid_t owner) {
    write_file(beside(suffix), "");
    ASSERT_EQ(::chown(beside(suffix).c_str(), owner, owner), 0);
  }
};

TEST_F(SidecarsOfOthersTest, AreRefusedWhereOthersMayWrite) {
  for (const mode_t folder : {01777, 0777, 01770}) {
    make_folder(folder);
    for (const char* suffix : kSuffixes) {
      make_sidecar(suffix, kNobody);
      expect_refused(beside(suffix), "belongs to another user");
      fs::remove(beside(suffix));
    }
  }
}

TEST_F(SidecarsOfOthersTest, AreRefusedBesideAFileThatIsNotThereYet) {
  fs::remove(file());
  make_folder(01777);
  make_sidecar("-journal", kNobody);
  EXPECT_THAT(error_of([&] { Store store(file()); }).what(), HasSubstr("belongs to another user"));
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(SidecarsOfOthersTest, DoNotChangeTheDatabaseThatRootReads) {
  const fs::path copy = folder_ / "copy.db";
  fs::copy_file(file(), copy);
  ChildProcess([&] {
    Connection changed(copy, Access::kReadWrite, 1000);
    changed.database().exec("UPDATE devices SET name = 'another'");
    ::_exit(0);  // ends without closing, so that the log remains
  }).wait();
  const auto name_with_the_log = [&] {
    fs::copy_file(fs::path(copy) += "-wal", beside("-wal"));
    if (::chown(beside("-wal").c_str(), kNobody, kNobody) != 0) return std::string("chown failed");
    return Store(file(), OpenMode::kReadOnly).devices().front().profile.name;
  };
  make_folder(01777);
  EXPECT_THAT(error_of(name_with_the_log).what(), HasSubstr("belongs to another user"));
  fs::remove(beside("-wal"));
  make_folder(0755);
  EXPECT_EQ(name_with_the_log(), "another") << "the log counts otherwise";
}

TEST_F(SidecarsOfOthersTest, AreReadWhereTheOwnerOfTheDatabaseMadeThem) {
  make_folder(01777);
  ASSERT_EQ(::chown(file().c_str(), kNobody, kNobody), 0);
  make_sidecar("-wal", kNobody);
  EXPECT_THAT(Store(file(), OpenMode::kReadOnly).devices(), SizeIs(1));
  make_sidecar("-wal", kSomebody);
  expect_refused(beside("-wal"), "belongs to another user");
}

TEST_F(SidecarsOfOthersTest, AreReadInAFolderThatAGroupShares) {
  make_folder(02770);
  make_sidecar("-wal", kNobody);
  EXPECT_THAT(Store(file(), OpenMode::kReadOnly).devices(), SizeIs(1));
  make_sidecar("-wal", kNobody);
  EXPECT_THAT(Store(file()).devices(), SizeIs(1));
}

}  // namespace
}  // namespace rooftile
