// What measurements of other problems, on this device or on others, say of a problem's candidates.
#pragma once

#include <span>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"
#include "db/store.h"
#include "tuner/strategy.h"

namespace rooftile {

struct MeasuredVariant {
  Variant variant;
  double ns;  // as a call pays it: kernel and packing
};

/// What another search has left behind.
struct TransferSource {
  Problem problem;
  std::vector<MeasuredVariant> measured;
  double nearness = 1;  // of the device that measured it, 1: this one
};

/// How much another device's measurements count, 1: as this one's.
double weight_of(Nearness nearness);

/// Of other drivers and devices in the file, and of equal ones elsewhere: the few nearest that have
/// measured problems of this one's class.
std::vector<TransferSource> sources_of_others(const Store& store, RowId device,
                                              const Problem& problem);

/// SearchSpace::transferred for this space's candidates: a regression over each source, the nearer
/// ones counting more. What a source knows nothing near of, it expects as the analytical model has
/// it for the source's problem at this device's rates. All NaN without a source that has measured
/// at least two kernels.
std::vector<double> transferred(const SearchSpace& space, std::span<const TransferSource> sources);

}  // namespace rooftile
