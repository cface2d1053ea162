// Search, finals and certification for one problem.
#pragma once

#include <functional>
#include <vector>

#include "core/device_profile.h"
#include "runtime/model/calibration.h"
#include "tuner/candidate_runner.h"
#include "tuner/tune.h"

namespace rooftile {

struct ProblemTunerContext {
  Store& store;
  CandidateRunner& runner;
  const DeviceProfile& device;
  const DeviceRates& rates;
  const std::vector<Variant>& space;  // legal_variants of the device
  const TuneOptions& options;
  std::function<bool()> over;  // stopped, or the whole budget is spent
  std::function<double()> elapsed_s;
  std::function<void(TuneProgress&)> progress;  // fills in the run's part and passes it on
  const HostRates* host_rates = nullptr;        // null: not calibrated
};

/// Spends up to slice_s on one problem and stores its ranked list; then, while the run is not over,
/// up to a tenth of slice_s on the winner beside the host's BLAS.
TuneResult tune_problem(const ProblemTunerContext& context, RowId device_row,
                        const Problem& problem, double slice_s);

}  // namespace rooftile
