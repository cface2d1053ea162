// A surrogate that starts from the measurements of other problems and devices.
#include "tuner/search/strategy_table.h"
#include "tuner/search/surrogate_search.h"

namespace rooftile {

std::unique_ptr<Strategy> make_auto(const SearchSpace& space, std::uint64_t) {
  return std::make_unique<SurrogateSearch>(space, Knowledge::kEverything);
}

}  // namespace rooftile
