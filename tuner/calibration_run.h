// One calibration of a device and the host, stored: what `rooftile calibrate` does and
// `rooftile tune` begins with.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/figure.h"
#include "db/store.h"
#include "runtime/model/calibration.h"
#include "tuner/calibrate.h"

namespace rooftile {

class WorkerProcess;

struct CalibrationRun {
  std::vector<Figure> figures;
  std::vector<Figure> before;  // of the last calibration here; empty when this is the first
  double elapsed_s = 0;
  std::vector<CalibrationPart> parts = {};  // where they went, in the order of time
};

/// The worker that measures on a device. program: run as `worker worker`; empty: /proc/self/exe.
WorkerProcess device_worker(const std::filesystem::path& program, const DeviceProfile& device);

/// Measures and stores, in kCalibrationS where the machine's matrix units and drivers let it
/// (calibrate.h). Nothing, and nothing stored, when stop became true. message is told of what could
/// not be calibrated. Throws kDevice when the device failed at it.
std::optional<CalibrationRun> calibrate(Store& store, const DeviceProfile& device,
                                        WorkerProcess& worker,
                                        const std::function<void(const std::string&)>& message,
                                        const std::atomic<bool>& stop);

/// The same in a worker of its own.
std::optional<CalibrationRun> calibrate(Store& store, const DeviceProfile& device,
                                        const std::function<void(const std::string&)>& message,
                                        const std::atomic<bool>& stop);

/// The last calibration here, if it has all that the model asks for: older Rooftiles measured less.
std::optional<Calibration> known_calibration(const Store& store, const DeviceProfile& device);

}  // namespace rooftile
