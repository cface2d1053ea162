#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/scratch.h"
#include "tests/support/test_device.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

class PipelineCache : public testing::Test {
 protected:
  /// Opens the device, creates a pipeline and closes it. Returns the cache's state before closing.
  PipelineCacheState use() {
    const auto device = Device::open(first_profile(), {.cache_folder = cache_});
    const Affine affine(*device);
    return device->pipeline_cache_state();
  }

  ScratchFolder folder_;
  fs::path cache_ = folder_.path() / "cache";
};

TEST_F(PipelineCache, IsSavedAtTheEndAndFoundAgain) {
  const PipelineCacheState cold = use();
  EXPECT_FALSE(cold.loaded);
  EXPECT_THAT(cold.note, testing::HasSubstr("not there yet"));

  struct stat status = {};
  ASSERT_EQ(::stat(cold.file.c_str(), &status), 0) << cold.file;
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  EXPECT_EQ(cold.file.parent_path(), cache_);

  const PipelineCacheState warm = use();
  EXPECT_TRUE(warm.loaded) << warm.note;
  EXPECT_EQ(warm.note, "");
}

TEST_F(PipelineCache, CodeOfOneDeviceIsTakenByAnotherAndWhatIsNoneIsIgnored) {
  const auto first = Device::open(first_profile()), second = Device::open(first_profile());
  const Affine affine(*first);
  const std::string code = first->take_code();
  for (const std::string& added : {code, std::string(), std::string(100, 'x')}) {
    second->add_code(added);
    const Affine again(*second);
  }
  const auto third = Device::open(first_profile());
  third->add_code(code);
  EXPECT_EQ(third->take_code().empty(), code.empty());
}

TEST_F(PipelineCache, ADamagedFileIsIgnoredAndRewritten) {
  const fs::path file = use().file;
  fs::resize_file(file, fs::file_size(file) - 1);
  const PipelineCacheState damaged = use();
  EXPECT_FALSE(damaged.loaded);
  EXPECT_THAT(damaged.note, testing::HasSubstr("ignored"));
  EXPECT_TRUE(use().loaded);
}

TEST_F(PipelineCache, WithoutPipelinesNothingIsWritten) {
  const fs::path file =
      Device::open(first_profile(), {.cache_folder = cache_})->pipeline_cache_state().file;
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(PipelineCache, AnUnwritableFolderIsANoteNotAnError) {
  std::ofstream(cache_) << "a file in the way";
  const auto device = Device::open(first_profile(), {.cache_folder = cache_});
  const Affine affine(*device);
  device->save_pipeline_cache();
  EXPECT_THAT(device->pipeline_cache_state().note, testing::HasSubstr(cache_.string()));
}

TEST_F(PipelineCache, WithoutAFolderThereIsNoFile) {
  const auto device = Device::open(first_profile());
  EXPECT_EQ(device->pipeline_cache_state().file, "");
  EXPECT_FALSE(device->pipeline_cache_state().loaded);
}

}  // namespace
}  // namespace rooftile
