#include "tuner/strategy.h"

#include <fmt/ranges.h>

#include <limits>

#include "core/error.h"
#include "runtime/model/roofline.h"
#include "tuner/strategy_table.h"

namespace rooftile {

SearchSpace search_space(const Problem& problem, const DeviceRates& rates,
                         std::vector<Variant> variants) {
  SearchSpace space{.problem = problem, .rates = rates, .variants = std::move(variants)};
  for (const Variant& variant : space.variants)
    space.analytical_ns.push_back(analytical_ns(problem, variant, rates));
  space.transferred.assign(space.variants.size(), std::numeric_limits<double>::quiet_NaN());
  return space;
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
