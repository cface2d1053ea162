// Entry point of `rooftile tune`: calibrate once, then search, certify and store within a budget of
// wall time that begins after the calibration.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/time_account.h"
#include "db/store.h"
#include "runtime/model/portfolio.h"
#include "tuner/stored/certify_imported.h"
#include "tuner/stored/refresh.h"
#include "tuner/tune_options.h"
#include "tuner/worker/calibration_run.h"
#include "tuner/worker/sample_log.h"

namespace rooftile {

struct TuneReport {
  RefreshReport refresh;
  ImportedReport imported;  ///< What was certified first.
  std::vector<TuneResult> results;
  /// Regret of choosing a kernel for untuned problems, over the problems that were compared, each
  /// left out in turn (runtime/model/portfolio.h). With no problems, there were too few to estimate
  /// it.
  Regret untuned;
  /// Tuned problems with fewer than kLeastForRegret candidates. Classes that consist of them for
  /// the most part are left out of `untuned`.
  std::size_t hardly_searched = 0;
  bool interrupted = false, out_of_budget = false;
  double calibration_s = 0;  ///< Wall time before the budget began; 0: stored figures were used.
  double elapsed_s = 0;      ///< Part of the budget.
  ActivitySeconds seconds = {};  ///< What elapsed_s went into.
  std::size_t failed = 0;        ///< Candidates that were blocked.
  double lost_s = 0;             ///< Wall time that they cost, new workers included.
  NoiseReport noise;
  RunConditions conditions;
};

struct TuneCallbacks {
  std::function<void(const TuneProgress&)> progress;
  /// Called if a calibration was necessary.
  std::function<void(const CalibrationRun&)> calibrated = {};
  std::function<void(const TuneResult&)> problem_finished;
  std::function<void(const RefreshReport&)> refreshed = {};  ///< Called if any list was stale.
  /// Called if there was anything to certify.
  std::function<void(const ImportedReport&)> imported = {};
  /// Receives blocked candidates, resumed journals, ...
  std::function<void(const std::string&)> message;
};

/// Tunes one device.
/// - A device without calibration figures is calibrated first, in some 15 s that do not count
///   against the budget: an interrupted calibration would give wrong figures for every later run.
/// - The budget begins with the stale ranked lists and with imported data for this device and
///   driver, which get half of it at most. If this machine was never calibrated, imported data that
///   includes a calibration is certified before the calibration, so that programs can use it in the
///   meantime.
/// - `stop` is polled. When it becomes true, measurements are kept and certified winners are
///   stored; an interrupted calibration stores nothing.
TuneReport tune(Store& store, const DeviceProfile& device, const TuneOptions& options,
                const TuneCallbacks& callbacks, const std::atomic<bool>& stop);

}  // namespace rooftile
