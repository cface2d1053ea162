// A fixed order from the measurements of the nearest other problems and devices, without learning
// on this problem: starts, then candidates by those measurements, then by the analytical model.
#include <cmath>

#include "tuner/search/fixed_order.h"
#include "tuner/search/strategy_table.h"

namespace rooftile {

std::unique_ptr<Strategy> make_transfer(const SearchSpace& space, std::uint64_t) {
  std::vector<std::size_t> order = space.starts;
  for (const std::size_t candidate : ascending(space.transferred))
    if (!std::isnan(space.transferred[candidate])) order.push_back(candidate);
  std::ranges::copy(ascending(space.analytical_ns), std::back_inserter(order));
  return std::make_unique<FixedOrder>(std::move(order), space.variants.size());
}

}  // namespace rooftile
