// Everything, what the model thinks fast first.
#include "tuner/candidate_pool.h"
#include "tuner/strategy_table.h"

namespace rooftile {
namespace {

class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(const SearchSpace& space)
      : order_(ascending(space.analytical_ns)), pool_(order_.size()) {}

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

std::unique_ptr<Strategy> make_exhaustive(const SearchSpace& space, std::uint64_t) {
  return std::make_unique<Exhaustive>(space);
}

}  // namespace rooftile
