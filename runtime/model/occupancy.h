// What a kernel loses on a GPU whose compute units it does not fill. Internal to runtime/model.
#pragma once

#include "core/problem.h"
#include "core/variant.h"
#include "runtime/model/roofline.h"

namespace rooftile {

struct Unfilled {
  double tail_ns = 0;  ///< Of units, and of lanes of units, that have no work.
  double wait_ns = 0;  ///< Of loads and barriers that no other workgroup of the unit hides.
};
/// busy_ns: the kernel's work on a device whose units are all full. Without a published generation
/// (DeviceRates::gpu) a workgroup fills its unit, and waits are not known. The result is 0 where
/// there are no workgroups.
Unfilled unfilled(const Problem& p, const Variant& v, const DeviceRates& rates, const Waves& waves,
                  double busy_ns);

/// Time from the end of a dispatch to the first results of one that needs them. 0 without a
/// published generation.
double dependent_dispatch_ns(const DeviceRates& rates);

}  // namespace rooftile
