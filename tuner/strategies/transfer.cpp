// What was fast on the nearest other problems and devices, and nothing learnt here: starts, then
// the rest by what was measured elsewhere, then by the analytical model.
#include <cmath>

#include "tuner/fixed_order.h"
#include "tuner/strategy_table.h"

namespace rooftile {

std::unique_ptr<Strategy> make_transfer(const SearchSpace& space, std::uint64_t) {
  std::vector<std::size_t> order = space.starts;
  for (const std::size_t candidate : ascending(space.transferred))
    if (!std::isnan(space.transferred[candidate])) order.push_back(candidate);
  std::ranges::copy(ascending(space.analytical_ns), std::back_inserter(order));
  return std::make_unique<FixedOrder>(std::move(order), space.variants.size());
}

}  // namespace rooftile
