// Search strategies by name.
#pragma once

#include <string>

#include "tuner/search/strategy.h"

namespace rooftile {

/// Equal arguments give equal searches. Throws kInvalidArgument for an unknown name.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space,
                                        std::uint64_t seed);
std::vector<std::string> strategy_names();  ///< In alphabetical order.

}  // namespace rooftile
