// What a kernel loses on a GPU whose compute units it does not fill, and what full units hide.
// Internal to runtime/model.
#pragma once

#include "core/problem.h"
#include "core/variant.h"
#include "runtime/model/roofline.h"

namespace rooftile {

/// How the time of the busiest unit differs from that of its share of the work.
struct UnitTimes {
  double tail_ns = 0;    ///< Of units, and of lanes of units, that have no work.
  double wait_ns = 0;    ///< For loads, while no other workgroup of the unit has work.
  double hidden_ns = 0;  ///< Of the work that a unit does beside other work.
};
/// busy_ns: all of the work, one kind after the other, on a device whose units are all busy;
/// longest_ns: the kind that takes longest. Without a published generation (DeviceRates::gpu) a
/// workgroup fills its unit, nothing waits and nothing is hidden.
UnitTimes unit_times(const Problem& p, const Variant& v, const DeviceRates& rates,
                     const Waves& waves, double busy_ns, double longest_ns);

/// Time from the end of a dispatch to the results of one that needs them, whose invocations wait
/// for so many loads one after the other. 0 without a published generation.
double dependent_dispatch_ns(const DeviceRates& rates, double loads);

}  // namespace rooftile
