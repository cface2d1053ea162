#include "tuner/search/strategy.h"

#include <algorithm>
#include <limits>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Measured on lavapipe with 14 frozen spaces, 2026-11-22: the fewer of the priors are tried first,
// the better is the result of searches of 16 candidates (limits of 1.25 to 2.5 and none). On six of
// the spaces most priors reach 7 to 25 % of the fastest kernel's rate.
constexpr double kPlausibleRatio = 1.5;

}  // namespace

SearchSpace search_space(const Problem& problem, const DeviceRates& rates,
                         std::vector<Variant> variants) {
  SearchSpace space{.problem = problem, .rates = rates, .variants = std::move(variants)};
  for (const Variant& variant : space.variants)
    space.analytical_ns.push_back(analytical_ns(problem, variant, rates));
  space.transferred.assign(space.variants.size(), std::numeric_limits<double>::quiet_NaN());
  return space;
}

bool is_plausible(const SearchSpace& space, std::size_t candidate) {
  return space.analytical_ns[candidate] <=
         kPlausibleRatio * *std::ranges::min_element(space.analytical_ns);
}

}  // namespace rooftile
