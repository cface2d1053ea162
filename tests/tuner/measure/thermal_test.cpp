#include "tuner/measure/thermal.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch.h"

namespace rooftile {
namespace {

class ThermalTest : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& content) const {
    std::filesystem::create_directories((system_ / file).parent_path());
    std::ofstream(system_ / file) << content << '\n';
  }
  ScratchFolder system_;
};

TEST_F(ThermalTest, ReportsTheHighestTemperature) {
  put("class/thermal/thermal_zone0/temp", "45000");
  put("class/thermal/thermal_zone1/temp", "-274000");
  put("class/thermal/cooling_device0/temp", "99000");
  put("class/hwmon/hwmon3/temp2_input", "71500");
  put("class/hwmon/hwmon3/temp2_crit", "110000");
  put("class/hwmon/hwmon3/fan1_input", "90000");
  EXPECT_EQ(read_thermal(system_.path()).highest_c, 71.5);
  EXPECT_FALSE(read_thermal(system_.path()).throttle_events);
}

TEST_F(ThermalTest, ThrottleEventsOfAllProcessors) {
  put("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
  put("devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "4");
  put("devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "5");
  EXPECT_EQ(read_thermal(system_.path()).throttle_events, 12);
  EXPECT_FALSE(read_thermal(system_.path()).highest_c);
}

TEST_F(ThermalTest, MissingAndInvalidFilesGiveNoReading) {
  EXPECT_FALSE(read_thermal(system_.path()).highest_c);
  put("class/thermal/thermal_zone0/temp", "warm");
  put("class/hwmon/hwmon0/temp1_input", "65261850");
  EXPECT_FALSE(read_thermal(system_.path()).highest_c);
  EXPECT_FALSE(read_thermal(system_ / "not here").throttle_events);
}

}  // namespace
}  // namespace rooftile
