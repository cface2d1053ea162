// Files and folders without permission to write or read. root ignores permissions, so where the
// test runs as root, a child process gives its rights up.
#include <gmock/gmock.h>

#include "child_process.h"
#include "file_bytes.h"
#include "filled_store.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PermissionsTest : public StoreTest {};

/// Becomes an unprivileged user who owns the current folder.
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

TEST_F(PermissionsTest, ReadOnlyFileIsNamedWithARemedy) {
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

TEST_F(PermissionsTest, ReadOnlyFolderCanBeReadFromAndNotWrittenTo) {
  fill(file());
  write_file(folder_ / "damaged.db", damaged_database(""));
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
              EXPECT_EQ(bytes_of_file(folder_ / "damaged.db"), damaged_database(""));
              Store store(file(), OpenMode::kReadOnly);
              EXPECT_THAT(store.devices(), SizeIs(1));
              EXPECT_THAT(store.query("SELECT * FROM devices").rows, SizeIs(1));
              fs::permissions(folder_.path(), fs::perms::owner_all);
            }).wait(),
            0);
}

TEST_F(PermissionsTest, FileThatMayNotBeReadIsNamed) {
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

TEST_F(PermissionsTest, FolderThatMayNotBeEnteredIsNamed) {
  fs::create_directory(folder_ / "closed");
  EXPECT_EQ(ChildProcess([&] {
              give_up_root(folder_.path());
              fs::permissions(folder_ / "closed", fs::perms::none);
              for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
                for (const char* name : {"closed/rooftile.db", "closed/sub/rooftile.db"}) {
                  const Error error = error_of([&] { Store(folder_ / name, mode); });
                  EXPECT_EQ(error.code(), ErrorCode::kIo);
                  EXPECT_THAT(error.what(), AllOf(HasSubstr("closed"), HasSubstr("ROOFTILE_DB")));
                }
              }
              fs::permissions(folder_ / "closed", fs::perms::owner_all);
            }).wait(),
            0);
}

}  // namespace
}  // namespace rooftile
