// Refresh of ranked lists that a new driver or a new generator has made stale. The kernels are
// certified and timed again instead of discarded, in seconds, so that the machine is usable before
// the search continues.
#pragma once

#include <functional>
#include <vector>

#include "core/device_profile.h"
#include "db/store.h"

namespace rooftile {

class CandidateRunner;

struct StaleList {
  Problem problem;
  std::vector<Variant> kernels;  ///< Kernels that may still be usable here, best first.
};

/// Returns the problems whose ranked list on this device holds a kernel without a verdict of this
/// generator (its version or its templates have changed), and those that have a list only on
/// another row of the same hardware: the device with another driver, or another device of the same
/// vendor and product. Of several such rows the newest counts.
///
/// Kernels that were rejected or are illegal here are left out, so a list that was refreshed, or
/// cannot be, is not stale any more. Each list gives what keep_ends() leaves of it.
std::vector<StaleList> stale_lists(Store& store, const DeviceProfile& device, RowId device_row);

struct RefreshReport {
  std::size_t stale = 0, refreshed = 0;  ///< Numbers of lists.
  double elapsed_s = 0;
};

struct RefreshOptions {
  std::function<bool()> over;                         ///< Called before every kernel.
  std::function<void(const Problem&)> progress = {};  ///< Called before each list.
};

/// Certifies the kernels of each list on device_row, times those that pass, and stores them.
RefreshReport refresh(Store& store, CandidateRunner& runner, RowId device_row,
                      const std::vector<StaleList>& lists, const RefreshOptions& options);

}  // namespace rooftile
