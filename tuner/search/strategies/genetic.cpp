// A steady-state genetic algorithm: children of two of the best candidates take each parameter from
// either parent, and sometimes one at random. Holland, Adaptation in Natural and Artificial Systems
// (1975).
#include <cmath>

#include "tuner/search/parameter_grid.h"
#include "tuner/search/strategy_table.h"

namespace rooftile {
namespace {

constexpr std::size_t kFirstGeneration = 12;  // Chosen at random.
constexpr std::size_t kParents = 8;           // The best of all measured.
constexpr std::uint64_t kMutations = 1;       // Parameters of a child, on average.

class Genetic : public Strategy {
 public:
  Genetic(const SearchSpace& space, std::uint64_t seed)
      : grid_(space.variants), pool_(space.variants.size()), random_(seed) {}

  std::vector<std::size_t> propose(std::span<const Observation> history,
                                   std::size_t count) override {
    pool_.take(history);
    std::vector<Observation> parents;
    for (const Observation& o : history)
      if (std::isfinite(o.ns)) parents.push_back(o);
    std::ranges::stable_sort(parents, {}, &Observation::ns);
    parents.resize(std::min(parents.size(), kParents));
    std::vector<std::size_t> batch;
    while (batch.size() < count && !pool_.empty()) {
      const bool young = history.size() + batch.size() < kFirstGeneration;
      batch.push_back(young || parents.size() < 2 ? pool_.any(random_) : child(parents));
      pool_.take(batch.back());
    }
    return batch;
  }

 private:
  std::size_t child(std::span<const Observation> parents) {
    const GridPoint& mother = grid_.point(parents[random_.below(parents.size())].candidate);
    const GridPoint& father = grid_.point(parents[random_.below(parents.size())].candidate);
    GridPoint point = mother;
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (random_.below(2) == 0) point[i] = father[i];
      if (random_.below(grid_.dimensions()) < kMutations)
        point[i] = static_cast<std::uint16_t>(random_.below(grid_.values(i)));
    }
    return grid_.nearest(point, pool_, random_);
  }

  ParameterGrid grid_;
  CandidatePool pool_;
  Random random_;
};

}  // namespace

std::unique_ptr<Strategy> make_genetic(const SearchSpace& space, std::uint64_t seed) {
  return std::make_unique<Genetic>(space, seed);
}

}  // namespace rooftile
