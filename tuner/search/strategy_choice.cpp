#include "tuner/search/strategy_choice.h"

#include <fmt/ranges.h>

#include "core/error.h"
#include "tuner/search/strategy_table.h"

namespace rooftile {

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
