#include "cli/refresh.h"

#include <cstdio>

#include "cli/progress_bar.h"
#include "core/count_text.h"
#include "core/error.h"
#include "tuner/stored/imported_lists.h"

namespace rooftile {
namespace {

void print_imported(const ImportedReport& report) {
  fmt::print("imported data: {} of {} problems usable in {:.1f} s", report.usable, report.lists,
             report.usable_s);
  if (report.replaced + report.kept > 0)
    fmt::print(" ({} replaced, {} kept)", count_text(report.replaced, "own winner"), report.kept);
  fmt::print(", {} of {} portfolios in {:.1f} s, all in {:.1f} s\n", report.portfolios_usable,
             report.portfolios, report.portfolios_s, report.elapsed_s);
  fmt::print("{}: certifying took {:.1f} s, timing {:.1f} s\n",
             count_text(report.kernels, "kernel"), report.certify_s, report.time_s);
  if (report.ratio > 0)
    fmt::print("times here over times there: {:.2f}, {:.2f} to {:.2f} by kernel\n", report.ratio,
               report.least_ratio, report.most_ratio);
}

}  // namespace

TuneCallbacks tune_callbacks(ProgressBar& bar) {
  return {.progress = [&bar](const TuneProgress& progress) { bar.show(progress); },
          .calibrated =
              [&bar](const CalibrationRun& run) {
                bar.clear();
                print_drift(run);
                fmt::print("calibration: {:.1f} s, not part of the budget\n", run.elapsed_s);
                std::fflush(stdout);
              },
          .problem_finished = {},
          .refreshed =
              [&bar](const RefreshReport& refreshed) {
                bar.clear();
                fmt::print("refreshed {} of {} problems in {:.0f} s\n", refreshed.refreshed,
                           refreshed.stale, refreshed.elapsed_s);
                std::fflush(stdout);
              },
          .imported =
              [&bar](const ImportedReport& report) {
                bar.clear();
                print_imported(report);
                std::fflush(stdout);
              },
          .message =
              [&bar](const std::string& message) {
                bar.clear();
                fmt::print(stderr, "rooftile: {}\n", message);
              }};
}

int refresh_devices(Store& store, const std::vector<DeviceProfile>& devices, TuneOptions options) {
  options.refresh_only = true;
  const std::atomic<bool>& stop = stop_on_signals();
  for (const DeviceProfile& device : devices) {
    fmt::print("refreshing {} ({}), {:.0f} s\n", device.name, device.driver_info, options.budget_s);
    std::fflush(stdout);
    for (const std::string& reason : other_imported_data(store, device, store.device_id(device)))
      fmt::print(stderr, "rooftile: {}\n", reason);
    const RowId row = store.device_id(device);
    if (!options.recalibrate && stale_lists(store, device, row).empty() &&
        imported_work(store, device, row).empty()) {
      fmt::print(
          "nothing to refresh: all ranked lists belong to this driver and this version of "
          "Rooftile, and no imported data for them remains to be certified\n");
      continue;
    }
    ProgressBar bar;
    const TuneReport report = tune(store, device, options, tune_callbacks(bar), stop);
    bar.clear();
    if (report.out_of_budget)
      fmt::print("out of budget: `rooftile tune --refresh` continues from here\n");
    if (report.interrupted) {
      fmt::print(
          "interrupted: what was certified is stored; `rooftile tune --refresh` continues\n");
      return kInterrupted;
    }
  }
  fmt::print("stored in {}; see `rooftile report`\n", store.path().string());
  return kDone;
}

}  // namespace rooftile
