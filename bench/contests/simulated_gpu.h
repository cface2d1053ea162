// A simulated GPU, with which the tuner itself is measured. Workers sleep as long as a real device
// would have worked, so that a machine with two processors can stand for one with sixteen.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "db/store.h"
#include "runtime/model/calibration.h"

namespace rooftile {

/// Times of a worker's requests on an NVIDIA H200 (2026-11-27, bench/results/nvidia-h200.db.xz:
/// the account of the run of the set default, 2,002 requests, 116 changes of the problem).
struct SimulatedCosts {
  double open_s = 0.16;        ///< Start of a worker.
  double compile_s = 0.24;     ///< A kernel, in the median; others take 0.4 to 2.5 times as long.
  double from_code_s = 0.003;  ///< A kernel from the code that another process has compiled.
  double submit_s = 0.3e-3;    ///< A submission besides its kernels: record, submit, wait.
  double check_s = 0.6e-3;     ///< Spots and canaries, a request.
  double certificate_s = 0.06;
  double gauge_s = 1.6e-3;  ///< Reading the clocks once.
  double ramp_s = 0.25;     ///< Raising them, after `idle_s` without work.
  double idle_s = 0.3;
  double operands_s = 8e-3;  ///< Other operands, and their bytes at this rate.
  double operand_bytes_per_s = 3e9;
};

/// The times of a device's kernels: what its database holds of a problem; elsewhere the model's
/// cost, corrected by what the nearest measured kernels of that type have over it.
class SimulatedTimes {
 public:
  /// The first device of the database that was tuned there.
  explicit SimulatedTimes(const std::filesystem::path& database);

  const DeviceProfile& device() const { return device_; }
  const std::vector<Figure>& figures() const { return figures_; }
  double ns(const Problem& problem, const Variant& variant) const;

 private:
  struct Point {
    Problem problem;
    Variant variant;
    std::vector<int> numbers;  ///< The variant's parameters.
    double log_ratio = 0;      ///< Of its time to the model's cost.
  };

  DeviceProfile device_;
  std::vector<Figure> figures_;
  DeviceRates rates_;
  std::vector<Point> points_;
};

/// Serves requests as run_worker() does. The database is $ROOFTILE_SIMULATED_GPU.
int run_simulated_worker();

}  // namespace rooftile
