#include "tuner/worker/calibration_run.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/file_text.h"
#include "tests/support/scratch.h"
#include "tests/tuner/made_up_calibration.h"
#include "tests/tuner/scripted_worker.h"
#include "tuner/worker/worker_process.h"

namespace rooftile {
namespace {

class KnownCalibration : public ::testing::Test {
 protected:
  std::optional<Calibration> known_after(const Calibration& stored) {
    store_->add_calibration(store_->device_id(device_), to_figures(stored));
    return known_calibration(*store_, device_);
  }

  const DeviceProfile device_ = {.name = "a device"};
  ScratchFolder folder_;
  std::optional<Store> store_{folder_ / "rooftile.db"};
};

TEST_F(KnownCalibration, IsTheStoredOne) {
  EXPECT_EQ(known_after(made_up_calibration()), made_up_calibration());
}

TEST_F(KnownCalibration, IsAbsentBeforeTheFirstCalibration) {
  EXPECT_EQ(known_calibration(*store_, device_), std::nullopt);
}

TEST_F(KnownCalibration, IsAbsentWithoutAMeasurementThatOlderVersionsLack) {
  for (double DeviceRates::*newer :
       {&DeviceRates::fetch_ns, &DeviceRates::synchronised_fma_gflops}) {
    Calibration older = made_up_calibration();
    older.device.*newer = 0;
    EXPECT_EQ(known_after(older), std::nullopt);
  }
  Calibration general = made_up_calibration();
  general.host.gemm.push_back(general.host.gemv.front());
  general.host.gemv.clear();
  EXPECT_EQ(known_after(general), std::nullopt);
}

TEST(CalibrationRun, GivesTheDeviceItsShareOfTheTime) {
  const ScratchFolder folder;
  WorkerScript(folder / "worker") << "read request\necho \"$request\" > " << folder / "request"
                                  << "\necho '{\"figures\": [], \"parts\": []}'\n";
  Store store(folder / "rooftile.db");
  const DeviceProfile device = {.name = "a device"};
  WorkerProcess worker = device_worker(folder / "worker", device);
  const std::atomic<bool> stop = false;
  ASSERT_TRUE(calibrate(
      store, device, worker, [](const std::string&) {}, stop, 0.7));
  EXPECT_DOUBLE_EQ(
      Json::parse(lines_of_file(folder / "request").at(0)).value().at("seconds").get<double>(),
      0.4);
}

}  // namespace
}  // namespace rooftile
