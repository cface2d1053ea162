// Interpretation of a driver's counters: measured bytes through a level of memory, which replace
// modelled ones.
#pragma once

#include <optional>
#include <span>

#include "core/performance_counter.h"
#include "runtime/model/roofline.h"

namespace rooftile {

/// Measured bytes of one GEMM. No value: the driver has no counter that is known to measure these
/// bytes, or it counted 0, as it does without the right to count.
struct CountedBytes {
  std::optional<double> memory;  ///< Device memory <-> cache, both directions.
  std::optional<double> shared;  ///< Shared memory -> registers.
};

/// Whether counted_bytes() uses this counter.
bool is_known(const PerformanceCounter& counter);
CountedBytes counted_bytes(std::span<const PerformanceCounter> counters);

/// Returns the roofline with bounds that follow from the measured bytes. Bytes through shared
/// memory count only for kernels that the model knows to be bounded by it. Bytes and traffic stay
/// as modelled.
Roofline with_counted(Roofline modelled, const CountedBytes& counted, const DeviceRates& rates);

}  // namespace rooftile
