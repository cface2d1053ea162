#include "tuner/worker/calibration_run.h"

#include <gtest/gtest.h>

#include "tests/support/scratch.h"

namespace rooftile {
namespace {

class KnownCalibration : public ::testing::Test {
 protected:
  static Calibration whole() {
    const HostRates host = {
        .call_ns = 1e3, .gbps = 10, .gemm = {{.m = 64, .n = 64, .k = 64, .gflops = 10}}};
    return {.device = {.submit_ns = 1e4,
                       .fetch_ns = 100,
                       .fma_gflops = 100,
                       .synchronised_fma_gflops = 50,
                       .levels = {{.name = "memory", .gbps = 10}}},
            .host = host,
            .host1 = host};
  }
  std::optional<Calibration> known_after(const Calibration& stored) {
    store_->add_calibration(store_->device_id(device_), to_figures(stored));
    return known_calibration(*store_, device_);
  }

  const DeviceProfile device_ = {.name = "a device"};
  ScratchFolder folder_;
  std::optional<Store> store_{folder_ / "rooftile.db"};
};

TEST_F(KnownCalibration, IsTheStoredOne) { EXPECT_EQ(known_after(whole()), whole()); }

TEST_F(KnownCalibration, IsAbsentBeforeTheFirstCalibration) {
  EXPECT_EQ(known_calibration(*store_, device_), std::nullopt);
}

TEST_F(KnownCalibration, IsAbsentWithoutAMeasurementThatOlderVersionsLack) {
  for (double DeviceRates::*newer :
       {&DeviceRates::fetch_ns, &DeviceRates::synchronised_fma_gflops}) {
    Calibration older = whole();
    older.device.*newer = 0;
    EXPECT_EQ(known_after(older), std::nullopt);
  }
}

}  // namespace
}  // namespace rooftile
