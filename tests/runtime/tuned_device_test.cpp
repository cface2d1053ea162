// Tests which device calls use when the database has several tuned devices.
#include <gtest/gtest.h>

#include "generator/space.h"
#include "runtime/tuned/tuned_data.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

class TunedDevice : public ::testing::Test {
 protected:
  /// Adds a device to the database, after those that it already has.
  void plant(const DeviceProfile& device, double fma_gflops) {
    Calibration calibration = fast_host();
    calibration.device.fma_gflops = fma_gflops;
    write_test_database(file(), device, {fallback_variant()}, {}, {}, calibration);
  }
  std::string chosen(const std::string& wanted = "") const {
    const TunedData data = load_tuned_data(file(), wanted, Deterministic::kNo);
    return data.profile ? data.profile->name : data.note;
  }
  std::filesystem::path file() const { return folder_ / "tuned.db"; }

 private:
  ScratchFolder folder_;
};

DeviceProfile device(const std::string& name, std::uint32_t vendor, DeviceKind kind,
                     std::uint32_t driver_version = 1) {
  return {.name = name,
          .device_uuid = name,
          .vendor_id = vendor,
          .driver_version = driver_version,
          .kind = kind};
}

TEST_F(TunedDevice, TheFasterOfTwoSoftwareDevicesIsChosenInWhateverOrderTheyWereTuned) {
  plant(device("fast", 1, DeviceKind::kSoftware), 80);
  plant(device("slow", 2, DeviceKind::kSoftware), 20);
  EXPECT_EQ(chosen(), "fast");
  EXPECT_EQ(chosen("slow"), "slow");
  plant(device("faster", 3, DeviceKind::kSoftware), 90);
  EXPECT_EQ(chosen(), "faster");
}

TEST_F(TunedDevice, TheNewestDriverOfAModelIsChosenEvenIfItMeasuredSlower) {
  plant(device("old driver", 1, DeviceKind::kSoftware, 1), 100);
  plant(device("other", 2, DeviceKind::kSoftware), 90);
  plant(device("new driver", 1, DeviceKind::kSoftware, 2), 95);
  EXPECT_EQ(chosen(), "new driver");
}

TEST_F(TunedDevice, HardwareAndVirtualHardwareComeBeforeSoftware) {
  plant(device("card", 1, DeviceKind::kVirtual), 10);
  plant(device("software", 2, DeviceKind::kSoftware), 80);
  EXPECT_EQ(chosen(), "card");
}

}  // namespace
}  // namespace rooftile
