#include "runtime/device/pipeline_cache_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "core/error.h"
#include "tests/support/file_text.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

const DeviceProfile kProfile = [] {
  DeviceProfile profile;
  profile.device_uuid = "00112233445566778899aabbccddeeff";
  profile.vendor_id = 1;
  profile.device_id = 2;
  profile.driver_id = 3;
  profile.driver_version = 4;
  profile.pipeline_cache_uuid = "ffeeddccbbaa99887766554433221100";
  return profile;
}();

mode_t mode_of(const fs::path& path) {
  struct stat status = {};
  ::stat(path.c_str(), &status);
  return status.st_mode & 07777;
}

void overwrite(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;  // keeps the file's mode
}

class PipelineCacheFile : public testing::Test {
 protected:
  PipelineCacheFile() { store_pipeline_cache(file_, kProfile, data_); }

  void expect_refused(const char* why) {
    const LoadedPipelineCache loaded = load_pipeline_cache(file_, kProfile);
    EXPECT_EQ(loaded.data, "");
    EXPECT_THAT(loaded.note, HasSubstr(why));
    EXPECT_THAT(loaded.note, HasSubstr(file_.string()));
  }

  ScratchFolder folder_;
  // The data contains all bytes, because line ends and NUL have no special meaning in it.
  const std::string data_ = std::string("\0\n\n binary \xff", 12);
  const fs::path file_ = folder_.path() / "new" / "folder" / pipeline_cache_file_name(kProfile);
};

TEST_F(PipelineCacheFile, RoundTripsAndIsPrivate) {
  const LoadedPipelineCache loaded = load_pipeline_cache(file_, kProfile);
  EXPECT_EQ(loaded.data, data_);
  EXPECT_EQ(loaded.note, "");
  EXPECT_EQ(mode_of(file_), 0600u);
  EXPECT_EQ(mode_of(file_.parent_path()), 0700u);
  EXPECT_EQ(std::distance(fs::directory_iterator(file_.parent_path()), fs::directory_iterator()), 1)
      << "temporary files remain";
}

TEST_F(PipelineCacheFile, EveryTruncationIsRefused) {
  const std::string whole = bytes_of_file(file_);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    overwrite(file_, whole.substr(0, bytes));
    EXPECT_EQ(load_pipeline_cache(file_, kProfile).data, "") << bytes;
    EXPECT_NE(load_pipeline_cache(file_, kProfile).note, "") << bytes;
  }
}

TEST_F(PipelineCacheFile, EveryFlippedByteIsRefused) {
  const std::string whole = bytes_of_file(file_);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    overwrite(file_, damaged);
    EXPECT_NE(load_pipeline_cache(file_, kProfile).note, "") << i;
  }
  overwrite(file_, whole + "x");
  expect_refused("damaged");
}

TEST_F(PipelineCacheFile, AnotherDeviceOrDriverIsRefused) {
  const auto change = [](auto member, auto value) {
    DeviceProfile profile = kProfile;
    profile.*member = value;
    return profile;
  };
  for (const DeviceProfile& other :
       {change(&DeviceProfile::device_uuid, "10112233445566778899aabbccddeeff"),
        change(&DeviceProfile::driver_id, 9u), change(&DeviceProfile::driver_version, 9u),
        change(&DeviceProfile::pipeline_cache_uuid, "0feeddccbbaa99887766554433221100")}) {
    EXPECT_EQ(load_pipeline_cache(file_, other).data, "");
  }
}

TEST_F(PipelineCacheFile, FilesThatOthersCouldHaveWrittenAreRefused) {
  fs::permissions(file_, fs::perms::group_write, fs::perm_options::add);
  expect_refused("0600");
}

TEST_F(PipelineCacheFile, LinksAndFoldersAreRefused) {
  const fs::path elsewhere = folder_.path() / "elsewhere";
  fs::rename(file_, elsewhere);
  fs::create_symlink(elsewhere, file_);
  expect_refused("ignored");
  fs::remove(file_);
  fs::create_directory(file_);
  expect_refused("not a regular file");
}

TEST_F(PipelineCacheFile, ALinkIsReplacedNotFollowedWhenStoring) {
  const fs::path victim = folder_.path() / "victim";
  overwrite(victim, "precious");
  fs::remove(file_);
  fs::create_symlink(victim, file_);
  store_pipeline_cache(file_, kProfile, data_);
  EXPECT_EQ(bytes_of_file(victim), "precious");
  EXPECT_EQ(load_pipeline_cache(file_, kProfile).data, data_);
}

TEST_F(PipelineCacheFile, UnwritableFolderIsAnError) {
  const fs::path blocked = folder_.path() / "file";
  overwrite(blocked, "");
  EXPECT_THAT(message_of([&] { store_pipeline_cache(blocked / "cache.bin", kProfile, data_); },
                         ErrorCode::kIo),
              HasSubstr(blocked.string()));
}

TEST_F(PipelineCacheFile, TheErrorTellsWhyNoFolderCanBeMade) {
  const std::string message = message_of([&] {  // Where root makes no folders either.
    store_pipeline_cache("/sys/rooftile/cache/cache.bin", kProfile, data_);
  });
  EXPECT_THAT(message, HasSubstr("cannot make the cache folder /sys/rooftile/cache: "));
  EXPECT_THAT(message, testing::Not(HasSubstr("No such file or directory")));
}

TEST(PipelineCacheFileName, DiffersByDeviceAndDriver) {
  DeviceProfile other = kProfile;
  other.driver_version = 5;
  EXPECT_NE(pipeline_cache_file_name(kProfile), pipeline_cache_file_name(other));
}

}  // namespace
}  // namespace rooftile
