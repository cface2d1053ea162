// Uniformly random order, the baseline for all other strategies.
#include "tuner/search/candidate_pool.h"
#include "tuner/search/strategy_table.h"

namespace rooftile {
namespace {

class RandomOrder : public Strategy {
 public:
  RandomOrder(const SearchSpace& space, std::uint64_t seed)
      : pool_(space.variants.size()), random_(seed) {}

  std::vector<std::size_t> propose(std::span<const Observation> history,
                                   std::size_t count) override {
    pool_.take(history);
    std::vector<std::size_t> batch;
    while (batch.size() < count && !pool_.empty()) {
      batch.push_back(pool_.any(random_));
      pool_.take(batch.back());
    }
    return batch;
  }

 private:
  CandidatePool pool_;
  Random random_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const SearchSpace& space, std::uint64_t seed) {
  return std::make_unique<RandomOrder>(space, seed);
}

}  // namespace rooftile
