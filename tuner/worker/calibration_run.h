// One calibration of a device and the host, including its storage: `rooftile calibrate` runs it,
// and `rooftile tune` begins with it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/figure.h"
#include "db/store.h"
#include "runtime/model/calibration.h"
#include "tuner/calibrate/calibrate.h"

namespace rooftile {

class WorkerProcess;

struct CalibrationRun {
  std::vector<Figure> figures;
  /// Figures of the last calibration on this machine; empty when this is the first.
  std::vector<Figure> before;
  double elapsed_s = 0;
  /// Share of elapsed_s of each part, in the order of time.
  std::vector<CalibrationPart> parts = {};
};

/// Creates the worker that measures on a device. `program` is run as `worker worker`; empty:
/// /proc/self/exe. No limit given: worker_memory_limit_bytes().
WorkerProcess device_worker(const std::filesystem::path& program, const DeviceProfile& device,
                            std::optional<double> memory_limit_bytes = {});
/// Creates the workers that compile ahead for a device: as many as there are processors that are
/// idle, and as memory suffices for; on a software device, where a batch is waited for, at most its
/// kernels. None where there is only one processor.
std::vector<std::unique_ptr<WorkerProcess>> compile_workers(const std::filesystem::path& program,
                                                            const DeviceProfile& device,
                                                            std::size_t processors,
                                                            std::size_t batch);

/// Measures and stores the figures, within `seconds` where the machine's matrix units and drivers
/// permit; less time means fewer samples. No value, and nothing stored, when `stop` became true.
/// `message` receives what could not be calibrated. Throws kDevice when the device failed.
std::optional<CalibrationRun> calibrate(Store& store, const DeviceProfile& device,
                                        WorkerProcess& worker,
                                        const std::function<void(const std::string&)>& message,
                                        const std::atomic<bool>& stop,
                                        double seconds = kCalibrationS);

/// Same as above in a worker of its own.
std::optional<CalibrationRun> calibrate(Store& store, const DeviceProfile& device,
                                        const std::function<void(const std::string&)>& message,
                                        const std::atomic<bool>& stop,
                                        double seconds = kCalibrationS);

/// Returns the last calibration on this machine if it has every rate that the model needs; older
/// versions of Rooftile measured fewer.
std::optional<Calibration> known_calibration(const Store& store, const DeviceProfile& device);

}  // namespace rooftile
