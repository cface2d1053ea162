// Disturbances of a run's measurements, for users.
#pragma once

#include <cstddef>
#include <optional>

namespace rooftile {

struct NoiseReport {
  /// Samples that were resampled, and samples that were kept and flagged noisy.
  std::size_t retaken = 0, noisy = 0;
  std::optional<double> slowdown;  ///< Over the whole run: Drift::slowdown().
};

}  // namespace rooftile
