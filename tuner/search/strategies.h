// Search strategies by name: a table in strategies.cpp.
#pragma once

#include <string>

#include "tuner/search/strategy.h"

namespace rooftile {

/// Equal arguments give equal searches. Throws kInvalidArgument for an unknown name.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space,
                                        std::uint64_t seed);
std::vector<std::string> strategy_names();  ///< In the order of the table, which is alphabetical.

}  // namespace rooftile
