// What was fast on the nearest other problems and devices, and nothing learnt here: starts, then
// the rest by what was measured elsewhere, then by the analytical model.
#include "tuner/candidate_pool.h"
#include "tuner/strategy_table.h"

namespace rooftile {
namespace {

class Transfer : public Strategy {
 public:
  explicit Transfer(const SearchSpace& space) : order_(space.starts), pool_(space.variants.size()) {
    for (const std::size_t candidate : ascending(space.transferred))
      if (space.transferred[candidate] == space.transferred[candidate]) order_.push_back(candidate);
    const std::vector<std::size_t> analytical = ascending(space.analytical_ns);
    order_.insert(order_.end(), analytical.begin(), analytical.end());
  }

  std::vector<std::size_t> propose(std::span<const Observation> history,
                                   std::size_t count) override {
    pool_.take(history);
    std::vector<std::size_t> batch;
    for (; next_ < order_.size() && batch.size() < count; ++next_)
      if (pool_.take(order_[next_])) batch.push_back(order_[next_]);
    return batch;
  }

 private:
  std::vector<std::size_t> order_;
  CandidatePool pool_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_transfer(const SearchSpace& space, std::uint64_t) {
  return std::make_unique<Transfer>(space);
}

}  // namespace rooftile
