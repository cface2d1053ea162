#include "tuner/strategy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "runtime/model/roofline.h"
#include "tuner/strategy_table.h"

namespace rooftile {
namespace {

// lavapipe, 14 frozen spaces, 2026-11-22: the less of the priors is tried first the higher searches
// of 16 candidates end (limits of 1.25 to 2.5 and none); on six of the spaces most priors have 7 to
// 25 % of the fastest kernel.
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

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const StrategyEntry& entry : strategy_table()) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space,
                                        std::uint64_t seed) {
  for (const StrategyEntry& entry : strategy_table())
    if (entry.name == name) return entry.make(space, seed);
  fail(ErrorCode::kInvalidArgument, "unknown strategy '{}'; known: {}", name,
       fmt::join(strategy_names(), ", "));
}

}  // namespace rooftile
