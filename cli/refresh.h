// What `rooftile tune --refresh` and `rooftile db import --certify` do with each device.
#pragma once

#include <atomic>
#include <vector>

#include "cli/command.h"
#include "db/store.h"
#include "tuner/tune.h"

namespace rooftile {

class ProgressBar;

/// Callbacks that every tuning command has: progress, drift of a calibration, refreshed and
/// imported lists, messages on stderr. The bar must outlive them.
TuneCallbacks tune_callbacks(ProgressBar& bar);

/// Certifies and times stale lists and imported data on each device, and says on stdout what became
/// usable and on stderr what cannot. Returns the exit code.
int refresh_devices(Store& store, const std::vector<DeviceProfile>& devices, TuneOptions options);

}  // namespace rooftile
