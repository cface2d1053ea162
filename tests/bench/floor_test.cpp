#include "bench/contests/floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "tests/support/faulty_driver.h"
#include "tests/support/first_device.h"

namespace rooftile {
namespace {

using DriverCall = FaultyDriver::Call;
constexpr int kRounds = 2;

class FloorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    profile_ = first_device();
    clocks_ = std::make_unique<FullClocks>(Device::open(profile_));
  }
  void TearDown() override { FaultyDriver::heal(); }
  static bool measured(const FloorRow& row) {
    return row.failure.empty() && row.wall_ns.size() == kRounds;
  }

  DeviceProfile profile_;
  std::unique_ptr<FullClocks> clocks_;
};

TEST_F(FloorTest, DispatchesAreTimedByTheDeviceWithinTheirSubmission) {
  std::set<std::pair<std::string, std::uint64_t>> found;
  for (const FloorRow& row : dispatch_floor(*clocks_, {}, kRounds)) {
    EXPECT_TRUE(measured(row)) << row.failure;
    found.emplace(row.what, row.size);
    if (row.size == 0 || profile_.limits.timestamp_valid_bits == 0) continue;
    ASSERT_EQ(row.device_ns.size(), row.wall_ns.size());
    const double ticks_ns = 2 * profile_.limits.timestamp_period_ns;
    for (std::size_t i = 0; i < row.wall_ns.size(); ++i)
      EXPECT_LE(row.device_ns[i], row.wall_ns[i] + ticks_ns);
  }
  const std::set<std::pair<std::string, std::uint64_t>> wanted = {
      {"side by side", 0},  {"side by side", 1},  {"side by side", 2},  {"side by side", 8},
      {"side by side", 64}, {"with barriers", 2}, {"with barriers", 8}, {"with barriers", 64}};
  EXPECT_EQ(found, wanted);
}

TEST_F(FloorTest, PredictedIsWhatTheRatesSayAndNothingWithoutThem) {
  const DeviceRates rates = {.submit_ns = 1000, .dispatch_ns = 10, .upload_gbps = 2};
  for (const FloorRow& row : dispatch_floor(*clocks_, rates, kRounds))
    EXPECT_EQ(row.predicted_ns, row.size == 0 ? 0 : 990 + 10 * static_cast<double>(row.size));
  for (const FloorRow& row : dispatch_floor(*clocks_, {}, kRounds)) EXPECT_EQ(row.predicted_ns, 0);
  for (const FloorRow& row : copy_floor(*clocks_, rates, kRounds, 16384))
    EXPECT_EQ(row.predicted_ns, row.what == "staged in" ? static_cast<double>(row.size) / 2 : 0)
        << row.what;
}

TEST_F(FloorTest, EverySizeIsCopiedOnEveryPathOfTheDevice) {
  const std::uint64_t alignment = profile_.limits.host_import_alignment_bytes;
  const double ticks_ns = 2 * profile_.limits.timestamp_period_ns;
  for (const Staging staging : {Staging::kWhereNeeded, Staging::kAlways}) {
    const bool mapped = staging == Staging::kWhereNeeded && profile_.unified_memory;
    std::map<std::uint64_t, std::set<std::string>> found;
    for (const FloorRow& row : copy_floor(*clocks_, {}, kRounds, 65536, staging)) {
      EXPECT_TRUE(measured(row)) << row.what << ": " << row.failure;
      for (std::size_t i = 0; i < row.device_ns.size(); ++i)
        EXPECT_LE(row.device_ns[i], row.wall_ns[i] + ticks_ns) << row.what;
      if (row.what.starts_with("staged")) {
        EXPECT_EQ(row.device_ns.empty(), mapped) << row.what;
      }
      found[row.size].insert(row.what);
    }
    ASSERT_EQ(found.size(), 4u);
    for (const auto& [size, paths] : found) {
      std::set<std::string> all = {"staged in", "staged out", "within the device"};
      if (!mapped) all.insert({"host's copy in", "host's copy out"});
      if (alignment > 0 && size % alignment == 0) all.insert({"import", "copied in", "copied out"});
      EXPECT_EQ(paths, all) << size;
    }
  }
}

TEST_F(FloorTest, CopiesThatDoNotFitSaySoAndSmallerOnesAreMeasured) {
  FaultyDriver::limit_memory(FaultyDriver::memory_in_use() + (std::uint64_t{3} << 20));
  std::size_t large = 0;
  for (const FloorRow& row : copy_floor(*clocks_, {}, kRounds, std::uint64_t{4} << 20)) {
    if (row.size < std::uint64_t{1} << 20) {
      EXPECT_TRUE(measured(row)) << row.size << " " << row.failure;
    } else if (row.size == std::uint64_t{4} << 20) {
      EXPECT_NE(row.failure, "");
      ++large;
    }
  }
  EXPECT_GT(large, 0u);
}

TEST_F(FloorTest, TheLossOfTheDeviceIsTheFailureOfItsRows) {
  FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST, 3);
  const std::vector<FloorRow> rows = dispatch_floor(*clocks_, {}, kRounds);
  EXPECT_EQ(rows.size(), 8u);
  for (const FloorRow& row : rows) EXPECT_NE(row.failure, "");
}

}  // namespace
}  // namespace rooftile
