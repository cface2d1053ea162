// Measures what every prediction rests on (runtime/model/calibration.h). The device half runs in
// the worker process. Both halves take as long as they may: less time means fewer samples.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/figure.h"
#include "runtime/device/device.h"
#include "tuner/rounds.h"

namespace rooftile {

/// Where the time of a calibration went.
struct CalibrationPart {
  std::string name;  // "device kernels"
  double seconds = 0;
};

struct Calibrated {
  std::vector<Figure> figures;
  std::vector<CalibrationPart> parts = {};
};

/// Of a whole calibration, and of the device's half of it.
inline constexpr double kCalibrationS = 16, kDeviceCalibrationS = 9;

/// Submit latency, dispatch cost, STREAM plateaus, multiply-add rates, shared memory, loads,
/// stores, host link with and without imported memory, compute units.
Calibrated calibrate_device(const std::shared_ptr<Device>& device,
                            double seconds = kDeviceCalibrationS);

/// The rate of one shape of matrix units, by its figure's name. Apart from the rest because drivers
/// list shapes that they cannot compile, or crash at. Throws what compiling and running throw.
Figure calibrate_matrix_unit(const std::shared_ptr<Device>& device, const MatrixShape& shape,
                             double compute_units);

/// STREAM bandwidth and multiply-add rate of the host, with all threads and one: to be sampled.
/// They share 384 MiB, held as long as one of them is.
std::vector<SampledFigure> host_peaks();

/// Those, and BLAS rates over host_calibration_problems() with all threads, one thread and in
/// float64, and the cost of a call. stop is polled between problems; what is missing then is
/// missing from the result.
Calibrated calibrate_host(const std::atomic<bool>& stop,
                          double seconds = kCalibrationS - kDeviceCalibrationS);

}  // namespace rooftile
