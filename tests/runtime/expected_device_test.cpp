// Which device of this machine is expected to be worth opening although nobody has tuned it here.
#include "runtime/tuned/expected_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "db/store.h"
#include "generator/space.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExpectedDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(shipped_);
    card_.device_uuid = card_.pipeline_cache_uuid = "00";
    card_.name = "a GPU";
    card_.kind = DeviceKind::kDiscrete;
    card_.vendor_id = 1, card_.device_id = 2, card_.driver_id = 3;
  }
  void measure(const std::filesystem::path& file, const Calibration& calibration) const {
    write_test_database(file, card_, {fallback_variant()}, {}, {}, calibration, 1000);
  }
  void import_measured_card() const {
    measure(folder_ / "theirs.db", fast_host());
    Store(database_).import_from(folder_ / "theirs.db");
  }
  TunedData expect(const std::vector<PciGpu>& gpus, const std::string& wanted = {}) const {
    TunedData data = load_tuned_data(database_, wanted, Deterministic::kNo);
    expect_device(data, wanted, shipped_, gpus);
    return data;
  }

  ScratchFolder folder_;
  const std::filesystem::path database_ = folder_ / "rooftile.db", shipped_ = folder_ / "devices";
  DeviceProfile card_;
  const std::vector<PciGpu> here_ = {{7, 7}, {1, 2}}, elsewhere_ = {{1, 7}, {7, 2}};
};

TEST_F(ExpectedDevice, IsOneOfThisMachineThatComesWithRooftile) {
  measure(shipped_ / "card.db", fast_host());
  const TunedData data = expect(here_);
  ASSERT_TRUE(data.expected.has_value());
  EXPECT_TRUE(data.guesses_host);
  EXPECT_TRUE(is_expected(data, *data.expected));
  EXPECT_THAT(data.note,
              HasSubstr("run `rooftile tune`; until then, repeated calls move to a GPU"));
  const Decision d = decide({.problem = packed_problem(64, 64, 64)}, data.model);
  EXPECT_EQ(d.veto, "");
  EXPECT_NEAR(d.kernel_ns, 1000, 1);
  EXPECT_FALSE(is_calibrated(data.calibration.host)) << "of this machine";
  EXPECT_FALSE(expect(elsewhere_).expected.has_value());
}

TEST_F(ExpectedDevice, LeavesShippedFilesClosedWhereThereIsNoGpu) {
  std::ofstream(shipped_ / "damaged.db") << "no database";
  testing::internal::CaptureStderr();
  EXPECT_FALSE(expect({}).expected.has_value());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  testing::internal::CaptureStderr();
  EXPECT_FALSE(expect(here_).expected.has_value());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("damaged.db"));
}

TEST_F(ExpectedDevice, IsTheWantedOne) {
  measure(shipped_ / "card.db", fast_host());
  EXPECT_TRUE(expect(here_, "gpu").expected.has_value());
  EXPECT_FALSE(expect(here_, "another").expected.has_value());
}

TEST_F(ExpectedDevice, IsOneThatWasImported) {
  import_measured_card();
  EXPECT_TRUE(expect(here_).expected.has_value());
  EXPECT_FALSE(expect({}).expected.has_value()) << "it is in another machine";
}

TEST_F(ExpectedDevice, IsASoftwareDeviceOnlyWhereItWasImported) {
  card_.kind = DeviceKind::kSoftware;
  measure(shipped_ / "card.db", fast_host());
  EXPECT_FALSE(expect({{7, 7}}).expected.has_value());
  import_measured_card();
  EXPECT_TRUE(expect({}).expected.has_value());
}

TEST_F(ExpectedDevice, NeedsTheRatesOfBothDeviceAndHost) {
  Calibration calibration = fast_host();
  calibration.host = calibration.host1 = {};
  measure(shipped_ / "card.db", calibration);
  EXPECT_FALSE(expect(here_).expected.has_value());
  std::filesystem::remove(shipped_ / "card.db");
  calibration = fast_host();
  calibration.device = {};
  measure(shipped_ / "card.db", calibration);
  EXPECT_FALSE(expect(here_).expected.has_value());
}

TEST_F(ExpectedDevice, GuessesNothingOfACalibratedHost) {
  measure(shipped_ / "card.db", fast_host());
  Store store(database_);
  Calibration own = fast_host();
  own.host.call_ns = 5000;
  store.add_calibration(store.device_id(card_), to_figures(own));
  const TunedData data = expect(here_);
  ASSERT_TRUE(data.expected.has_value());
  EXPECT_FALSE(data.guesses_host);
  EXPECT_GT(decide({.problem = packed_problem(1, 1, 1)}, data.model).host_ns, 4000);
  EXPECT_NEAR(decide({.problem = packed_problem(64, 64, 64)}, data.model).kernel_ns, 1000, 1);
}

TEST_F(ExpectedDevice, IsOfTheSameProductAndDriver) {
  measure(shipped_ / "card.db", fast_host());
  const TunedData data = expect(here_);
  DeviceProfile other = card_;
  other.device_uuid = "01", ++other.driver_version;
  EXPECT_TRUE(is_expected(data, other));
  ++other.driver_id;
  EXPECT_FALSE(is_expected(data, other));
  other = card_;
  ++other.device_id;
  EXPECT_FALSE(is_expected(data, other));
  EXPECT_FALSE(is_expected(TunedData(), DeviceProfile()));
}

}  // namespace
}  // namespace rooftile
