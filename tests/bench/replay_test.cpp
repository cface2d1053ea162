#include "bench/contests/replay.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch.h"

namespace rooftile {
namespace {

/// A kernel with square blocks of this size. C has 16 x 16 elements, so that larger blocks execute
/// more multiply-adds than it needs.
Variant blocks_of(int tile) {
  return {.family = Family::kTiled,
          .tile_m = tile,
          .tile_n = tile,
          .tile_k = 8,
          .reg_m = 4,
          .reg_n = 4};
}

class ReplayTest : public testing::Test {
 protected:
  std::filesystem::path written(const FrozenSpace& space) const {
    const std::filesystem::path file = folder_ / "mine.csv";
    std::ofstream(file) << to_csv(space);
    return file;
  }

  const ScratchFolder folder_;
  FrozenSpace space_ = {.device = "device",
                        .driver = "driver 1",
                        .problem = packed_problem(16, 16, 64),
                        .figures = {{"device.fma.f32", "gflops", 10, 0, 1}},
                        .points = {{.variant = blocks_of(16), .kernel_ns = 100, .count = 1},
                                   {.variant = blocks_of(32), .kernel_ns = 200, .count = 1},
                                   {.variant = blocks_of(64), .kernel_ns = 400, .count = 1}}};
};

TEST_F(ReplayTest, StartsAreTheDefaultAndStartsThatTheModelAccepts) {
  // The slowest kernel is the default and also a prior; blocks of 128 are not in the space.
  space_.starts = {blocks_of(64), blocks_of(32), blocks_of(64), blocks_of(128), blocks_of(16)};
  const Replay replay = load_replay(written(space_));
  ASSERT_GT(replay.space.analytical_ns[1], 1.5 * replay.space.analytical_ns[0]);
  EXPECT_EQ(replay.space.starts, (std::vector<std::size_t>{2, 0}));
}

TEST_F(ReplayTest, UsesAnotherCalibrationOfTheSameDeviceAndDriver) {
  const std::filesystem::path database = folder_ / "calibration.db";
  const auto calibrate = [&](const std::string& uuid, const std::string& driver, double gflops) {
    Store store(database);
    const std::vector<Figure> figures = {{"device.fma.f32", "gflops", gflops, 0, 1}};
    store.add_calibration(
        store.device_id({.name = "device", .device_uuid = uuid, .driver_info = driver}), figures);
  };
  calibrate(std::string(32, '1'), "driver 2", 20);
  const std::filesystem::path file = written(space_);
  EXPECT_FALSE(figures_in(database, space_).has_value());
  EXPECT_EQ(load_replay(file, database).space.rates.fma_gflops, 10) << "its own: there is no other";
  calibrate(std::string(32, '2'), "driver 1", 30);
  EXPECT_EQ(load_replay(file, database).space.rates.fma_gflops, 30);
  EXPECT_EQ(load_replay(file).space.rates.fma_gflops, 10);
}

}  // namespace
}  // namespace rooftile
