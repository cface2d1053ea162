// Objects of a run that the search of a problem uses.
#pragma once

#include <functional>
#include <vector>

#include "core/device_profile.h"
#include "core/variant.h"
#include "db/store.h"
#include "runtime/model/calibration.h"
#include "tuner/tune_options.h"
#include "tuner/worker/candidate_runner.h"

namespace rooftile {

struct ProblemTunerContext {
  Store& store;
  CandidateRunner& runner;
  const DeviceProfile& device;
  const DeviceRates& rates;
  const std::vector<Variant>& space;  ///< legal_variants of the device.
  const TuneOptions& options;
  std::function<bool()> over;  ///< True when the run is stopped or the whole budget is spent.
  std::function<double()> elapsed_s;
  std::function<void(const TuneProgress&)> progress;  ///< Fills in the run's part and passes it on.
  const HostRates* host_rates = nullptr;              ///< Null: not calibrated.
};

}  // namespace rooftile
