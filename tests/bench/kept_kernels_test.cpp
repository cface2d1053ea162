#include "bench/contests/kept_kernels.h"

#include <gmock/gmock.h>

#include "core/files/text_file.h"
#include "runtime/device/device.h"
#include "tests/support/first_device.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(KeptKernelsTest, WhatExceedsTheRoomIsSaid) {
  const DeviceProfile profile = first_device();
  const ScratchFolder folder;
  const Experiment one{.name = "edges",
                       .problem = packed_problem(33, 17, 65),
                       .baseline = parse_variant("family=naive tile_m=8 tile_n=8"),
                       .variant = parse_variant("family=naive tile_m=4 tile_n=16"),
                       .expected = 1,
                       .seconds = 1,
                       .hypothesis = "none"};
  keep_kernels(profile, {one}, folder.path() / "whole", 1);
  EXPECT_THAT(read_text_file(folder.path() / "whole" / "kernels.csv"), Not(HasSubstr("no room")));
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path() / "whole"))
    if (file.path().extension() != ".csv") bytes += file.file_size();
  ASSERT_GE(bytes, 64u) << "two headers of pipeline caches";
  keep_kernels(profile, {one}, folder.path() / "less", 1, bytes - 1);
  const std::string table = read_text_file(folder.path() / "less" / "kernels.csv");
  EXPECT_EQ(table.find("no room for its "), table.rfind("no room for its ")) << table;
  EXPECT_THAT(table, HasSubstr("no room for its "));
}

}  // namespace
}  // namespace rooftile
