// Measures what every prediction rests on (runtime/model/calibration.h). The device half runs in
// the worker process.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/figure.h"
#include "runtime/device/device.h"

namespace rooftile {

/// Submit latency, dispatch cost, STREAM plateaus, multiply-add rates, shared memory, loads,
/// stores, host link with and without imported memory, compute units.
std::vector<Figure> calibrate_device(const std::shared_ptr<Device>& device);

/// The rate of one shape of matrix units, by its figure's name. Apart from the rest because drivers
/// list shapes that they cannot compile, or crash at. Throws what compiling and running throw.
Figure calibrate_matrix_unit(const std::shared_ptr<Device>& device, const MatrixShape& shape,
                             double compute_units);

/// STREAM bandwidth and multiply-add rate of the host, with all threads and one.
std::vector<Figure> calibrate_host_peaks(const std::atomic<bool>& stop);

/// Those, and BLAS rates over host_calibration_problems() with all threads, one thread and in
/// float64, and the cost of a call. stop is polled between problems; what is missing then is
/// missing from the result.
std::vector<Figure> calibrate_host(const std::atomic<bool>& stop);

}  // namespace rooftile
