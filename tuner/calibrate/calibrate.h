// Measurement of the rates that every prediction is based on (runtime/model/calibration.h). The
// device half runs in the worker process. Both halves have a time limit: less time means fewer
// samples.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/figure.h"
#include "runtime/device/device.h"
#include "tuner/measure/full_clocks.h"
#include "tuner/measure/rounds.h"

namespace rooftile {

/// Time of one part of a calibration.
struct CalibrationPart {
  std::string name;  ///< For example "device kernels".
  double seconds = 0;
};

struct Calibrated {
  std::vector<Figure> figures;
  std::vector<CalibrationPart> parts = {};
  /// Whether other programs held processors in most samples of BLAS on all threads. Such samples
  /// are many times too slow, so all threads then count as no slower than one thread.
  bool processors_busy = false;
};

/// Duration of a whole calibration where none is asked for, and of the device's half of it.
inline constexpr double kCalibrationS = 14, kDeviceCalibrationS = 8;

/// Measures submit latency, dispatch cost, STREAM plateaus, multiply-add rates, shared memory,
/// loads, stores, the host link with and without imported memory, and compute units.
Calibrated calibrate_device(FullClocks& clocks, double seconds = kDeviceCalibrationS);

/// Measures the rate of one shape of matrix units, under its figure's name. This is separate from
/// the rest because drivers list shapes that they cannot compile or crash at. Throws the errors of
/// compiling and running.
Figure calibrate_matrix_unit(FullClocks& clocks, const MatrixShape& shape, double compute_units);

/// Returns figures to be sampled: STREAM bandwidth and multiply-add rate of the host, with all
/// threads and with one. They share 384 MiB, held as long as one of them exists.
std::vector<SampledFigure> host_peaks();

/// Measures host_peaks(), BLAS rates over host_calibration_problems() with all threads, with one
/// thread and in float64, and the cost of a call. `stop` is polled between problems; problems not
/// measured by then are missing from the result.
Calibrated calibrate_host(const std::atomic<bool>& stop,
                          double seconds = kCalibrationS - kDeviceCalibrationS);

}  // namespace rooftile
