// Environment variables of the drop-in BLAS. Each variable is read once, at its first use.
#pragma once

namespace rooftile::blas {

/// Value of $ROOFTILE_TIER. kOther: host, host1, or a value that the runtime refuses.
enum class WantedTier { kAuto, kDevice, kHost64, kOther };
WantedTier wanted_tier();

/// Value of $ROOFTILE_PRECISION. kFloat64 for high and exact64, and where $ROOFTILE_TIER is host64.
/// kUnknown: a precision that the runtime refuses.
enum class WantedPrecision { kStandard, kFloat64, kUnknown };
WantedPrecision wanted_precision();

/// Whether wanted_precision() is kFloat64.
inline bool sums_in_float64() { return wanted_precision() == WantedPrecision::kFloat64; }

}  // namespace rooftile::blas
