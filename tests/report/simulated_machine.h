// A tuned machine as its database would be: kernels of the real space, times by the model with
// noise from a fixed seed.
#pragma once

#include <string>

#include "db/store.h"
#include "runtime/model/calibration.h"

namespace rooftile {

struct Simulation {
  std::string name = "Simulated GPU", uuid = "00000000000000000000000000000001";
  std::uint32_t driver_version = 1;
  double speed = 1;          // of arithmetic and memory, over those of the simplest
  std::size_t problems = 6;  // tuned ones
  std::size_t samples = 40;  // of each
  std::size_t calibrations = 2;
  std::size_t counters = 0;  // of the driver, for each winner: the first two are known bytes
};

/// Calibrates and tunes it; the new row of devices.
RowId simulate(Store& store, const Simulation& simulation);
DeviceRates simulated_rates(double speed);

}  // namespace rooftile
