// Predictions for a problem's candidates from measurements of other problems, on this device or on
// others.
#pragma once

#include <span>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"
#include "db/store.h"
#include "tuner/search/strategy.h"

namespace rooftile {

struct MeasuredVariant {
  Variant variant;
  double ns;  ///< As a call pays it: kernel and packing.
};

/// Measurements of another search.
struct TransferSource {
  Problem problem;
  std::vector<MeasuredVariant> measured;
  double nearness = 1;  ///< Weight of the device that measured it; 1: this device.
};

/// Weight of another device's measurements; 1: as much as this one's.
double weight_of(Nearness nearness);

/// Returns sources from other drivers and devices in the file, and from equal devices of other
/// machines: the few nearest that have measured problems of this problem's class.
std::vector<TransferSource> sources_of_others(const Store& store, RowId device,
                                              const Problem& problem);

/// Returns SearchSpace::transferred for this space's candidates: a regression over each source,
/// with higher weights for nearer ones. Where a source has no near measurement, the regression
/// returns the analytical model's prediction for the source's problem at this device's rates. All
/// NaN without a source that has measured at least two kernels.
std::vector<double> transferred(const SearchSpace& space, std::span<const TransferSource> sources);

}  // namespace rooftile
