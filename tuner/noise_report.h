// What disturbed the measurements of a run, for people.
#pragma once

#include <cstddef>
#include <optional>

namespace rooftile {

struct NoiseReport {
  std::size_t retaken = 0, noisy = 0;  // samples: thrown away and taken again; kept as they are
  std::optional<double> slowdown;      // over the whole run: Drift::slowdown()
};

}  // namespace rooftile
