// The choice of a device that other machines have measured, where nothing is tuned here.
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

class ExpectedDeviceTest : public ::testing::Test {
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
  std::optional<ExpectedDevice> expect(const std::vector<PciGpu>& gpus,
                                       const std::string& wanted = {}) const {
    return expected_device(load_tuned_data(database_, wanted, Deterministic::kNo), wanted, shipped_,
                           gpus);
  }

  ScratchFolder folder_;
  const std::filesystem::path database_ = folder_ / "rooftile.db", shipped_ = folder_ / "devices";
  DeviceProfile card_;
  const std::vector<PciGpu> here_ = {{7, 7}, {1, 2}}, elsewhere_ = {{1, 7}, {7, 2}};
};

TEST_F(ExpectedDeviceTest, IsOneOfThisMachineThatComesWithRooftile) {
  measure(shipped_ / "card.db", fast_host());
  const auto found = expect(here_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->device.name, card_.name);
  EXPECT_TRUE(found->guesses_host);
  const Decision d = decide({.problem = packed_problem(64, 64, 64)}, found->model);
  EXPECT_EQ(d.veto, "");
  EXPECT_NEAR(d.kernel_ns, 1000, 1);
  EXPECT_FALSE(expect(elsewhere_).has_value());
}

TEST_F(ExpectedDeviceTest, LeavesShippedFilesClosedWhereThereIsNoGpu) {
  std::ofstream(shipped_ / "damaged.db") << "no database";
  testing::internal::CaptureStderr();
  EXPECT_FALSE(expect({}).has_value());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  testing::internal::CaptureStderr();
  EXPECT_FALSE(expect(here_).has_value());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("damaged.db"));
}

TEST_F(ExpectedDeviceTest, IsTheWantedOne) {
  measure(shipped_ / "card.db", fast_host());
  EXPECT_TRUE(expect(here_, "gpu").has_value());
  EXPECT_FALSE(expect(here_, "another").has_value());
}

TEST_F(ExpectedDeviceTest, IsOneThatWasImported) {
  import_measured_card();
  EXPECT_TRUE(expect(here_).has_value());
  EXPECT_FALSE(expect({}).has_value()) << "it is in another machine";
}

TEST_F(ExpectedDeviceTest, IsASoftwareDeviceOnlyWhereItWasImported) {
  card_.kind = DeviceKind::kSoftware;
  measure(shipped_ / "card.db", fast_host());
  EXPECT_FALSE(expect({{7, 7}}).has_value());
  import_measured_card();
  EXPECT_TRUE(expect({}).has_value());
}

TEST_F(ExpectedDeviceTest, NeedsTheRatesOfBothDeviceAndHost) {
  Calibration calibration = fast_host();
  calibration.host = calibration.host1 = {};
  measure(shipped_ / "card.db", calibration);
  EXPECT_FALSE(expect(here_).has_value());
  std::filesystem::remove(shipped_ / "card.db");
  calibration = fast_host();
  calibration.device = {};
  measure(shipped_ / "card.db", calibration);
  EXPECT_FALSE(expect(here_).has_value());
}

TEST_F(ExpectedDeviceTest, TakesOfThisMachineWhatWasCalibratedHere) {
  measure(shipped_ / "card.db", fast_host());
  Calibration own = fast_host();
  own.host.call_ns = 5000;
  own.device.submit_ns = 7000;
  const auto calibrate = [&](const DeviceProfile& device) {
    std::filesystem::remove(database_);
    Store store(database_);
    store.add_calibration(store.device_id(device), to_figures(own));
    const auto found = expect(here_);
    EXPECT_TRUE(found.has_value());
    const Problem small = packed_problem(64, 64, 64);
    EXPECT_NEAR(decide({.problem = small}, found->model).kernel_ns, 1000, 1);
    return found;
  };
  const auto same = calibrate(card_);
  EXPECT_FALSE(same->guesses_host);
  EXPECT_GT(decide({.problem = packed_problem(1, 1, 1)}, same->model).host_ns, 4000);
  EXPECT_EQ(same->model.device().submit_ns, 7000);
  DeviceProfile other_driver = card_, other_product = card_;
  ++other_driver.driver_id;
  ++other_product.device_id;
  for (const DeviceProfile& device : {other_driver, other_product}) {
    const auto other = calibrate(device);
    EXPECT_FALSE(other->guesses_host);
    EXPECT_GT(decide({.problem = packed_problem(1, 1, 1)}, other->model).host_ns, 4000);
    EXPECT_EQ(other->model.device().submit_ns, fast_host().device.submit_ns);
  }
  own.host = own.host1 = {};
  EXPECT_TRUE(calibrate(card_)->guesses_host);
}

TEST_F(ExpectedDeviceTest, HasKernels) {
  Store store(shipped_ / "card.db");
  store.add_calibration(store.device_id(card_), to_figures(fast_host()));
  EXPECT_FALSE(expect(here_).has_value());
}

TEST_F(ExpectedDeviceTest, IsOfTheBestKind) {
  card_.kind = DeviceKind::kSoftware, card_.name = "software", ++card_.device_id;
  import_measured_card();
  card_.kind = DeviceKind::kDiscrete, card_.name = "GPU", --card_.device_id;
  card_.device_uuid = "01";
  std::filesystem::remove(folder_ / "theirs.db");
  import_measured_card();
  EXPECT_EQ(expect(here_)->device.name, "GPU");
  EXPECT_EQ(expect({})->device.name, "software");
}

TEST_F(ExpectedDeviceTest, IsOfTheSameProductAndDriver) {
  measure(shipped_ / "card.db", fast_host());
  const auto found = expect(here_);
  ASSERT_TRUE(found.has_value());
  DeviceProfile other = card_;
  other.device_uuid = "01", ++other.driver_version;
  EXPECT_TRUE(found->is(other));
  ++other.driver_id;
  EXPECT_FALSE(found->is(other));
  other = card_;
  ++other.device_id;
  EXPECT_FALSE(found->is(other));
}

}  // namespace
}  // namespace rooftile
