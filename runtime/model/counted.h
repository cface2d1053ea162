// What of a driver's counters is understood: bytes through a level of memory, in the place of
// modelled ones.
#pragma once

#include <optional>
#include <span>

#include "core/performance_counter.h"
#include "runtime/model/roofline.h"

namespace rooftile {

/// Of one product. Nothing: the driver has no counter that is known to be that, or it counted 0,
/// as where the rights to count are missing.
struct CountedBytes {
  std::optional<double> memory;  // device memory <-> cache, both ways
  std::optional<double> shared;  // shared memory -> registers
};

/// Whether it is one of those that counted_bytes() looks for.
bool is_known(const PerformanceCounter& counter);
CountedBytes counted_bytes(std::span<const PerformanceCounter> counters);

/// The same with bounds that follow from these bytes. Bytes through shared memory count only for
/// kernels that the model knows to be bounded by it. Bytes and traffic stay as modelled.
Roofline with_counted(Roofline modelled, const CountedBytes& counted, const DeviceRates& rates);

}  // namespace rooftile
