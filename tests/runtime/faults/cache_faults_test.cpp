// Unusable folders and files of compiled kernels, one test for each fault (docs/faults.md): the
// device still answers, and the fault is reported on stderr once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/full_disk.h"

namespace rooftile {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

TEST_F(Faults, AnUnwritableCacheFolderIsNotUsed) {
  std::ofstream(cache_) << "a file in the way";
  expect_one_line(said_by([&] {
                    for (int context = 0; context < 2; ++context)
                      expect(multiply(*open()), Tier::kDevice, Reason::kPredicted);
                  }),
                  "kernels are compiled anew");
}

TEST_F(Faults, OnAFullDiskNoPartialKernelIsKept) {
  // Mesa's lavapipe since 24 keeps device memory in an anonymous file, which FullDisk limits too,
  // and which keeps the size that it has once had.
  Device::open(device_)->create_buffer(64 << 20, BufferUse::kUpload);
  std::unique_ptr<Context> context;  // It writes counts when it is closed, outside of FullDisk.
  expect_one_line(said_by([&] {
                    const FullDisk full;
                    context = open();
                    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                  }),
                  "kernels are compiled anew");
  EXPECT_THAT(files_in(cache_ / "spirv"), IsEmpty());
  expect_sound_again();
  EXPECT_THAT(files_in(cache_ / "spirv"), Not(IsEmpty()));
}

TEST_F(Faults, ADamagedPipelineCacheIsReportedAndReplaced) {
  multiply(*open());
  std::filesystem::path damaged;
  for (const std::filesystem::path& file : files_in(cache_))
    if (file.filename().string().starts_with("pipelines-")) damaged = file;
  ASSERT_FALSE(damaged.empty());
  std::filesystem::resize_file(damaged, std::filesystem::file_size(damaged) - 1);
  expect_one_line(said_by([&] { expect(multiply(*open()), Tier::kDevice, Reason::kPredicted); }),
                  damaged.string() + " is ignored: ");
  EXPECT_TRUE(Device::open(device_, {.cache_folder = cache_})->pipeline_cache_state().loaded);
}

}  // namespace
}  // namespace rooftile
