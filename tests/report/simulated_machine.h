// Database of a simulated tuned machine: kernels of the real space, and times from the model with
// noise from a fixed seed.
#pragma once

#include <string>

#include "db/store.h"
#include "runtime/model/calibration.h"

namespace rooftile {

struct Simulation {
  std::string name = "Simulated GPU", uuid = "00000000000000000000000000000001";
  std::uint32_t driver_version = 1;
  double speed = 1;          // Factor on all rates of arithmetic and memory.
  std::size_t problems = 6;  // Number of tuned problems.
  std::size_t samples = 40;  // Number of samples per problem.
  std::size_t calibrations = 2;
  // Counters per winner; the first two are byte counters with known names.
  std::size_t counters = 0;
};

/// Calibrates and tunes the machine. Returns the new row of devices.
RowId simulate(Store& store, const Simulation& simulation);
DeviceRates simulated_rates(double speed);

}  // namespace rooftile
