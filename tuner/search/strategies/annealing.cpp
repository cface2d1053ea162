// Simulated annealing: steps to a neighbour, where steps to slower kernels become less likely over
// time. Kirkpatrick, Gelatt and Vecchi, Optimization by Simulated Annealing, Science 220 (1983).
#include <cmath>
#include <optional>

#include "tuner/search/parameter_grid.h"
#include "tuner/search/strategy_table.h"

namespace rooftile {
namespace {

// A step to a kernel half as fast is initially taken with probability 1/e; the temperature halves
// every kHalfLife observations.
constexpr double kFirstTemperature = 1.0;  // In log2 of the time.
constexpr double kHalfLife = 16;

class Annealing : public Strategy {
 public:
  Annealing(const SearchSpace& space, std::uint64_t seed)
      : grid_(space.variants), pool_(space.variants.size()), random_(seed) {}

  std::vector<std::size_t> propose(std::span<const Observation> history,
                                   std::size_t count) override {
    pool_.take(history);
    for (; seen_ < history.size(); ++seen_) step(history[seen_]);
    std::vector<std::size_t> batch;
    while (batch.size() < count && !pool_.empty()) {
      batch.push_back(current_ ? neighbour() : pool_.any(random_));
      pool_.take(batch.back());
    }
    return batch;
  }

 private:
  void step(const Observation& to) {
    if (!std::isfinite(to.ns)) return;
    if (current_) {
      const double temperature =
          kFirstTemperature * std::exp2(-static_cast<double>(seen_) / kHalfLife);
      const double uphill = std::log2(to.ns / current_->ns);
      if (uphill > 0 && random_.unit() >= std::exp(-uphill / temperature)) return;
    }
    current_ = to;
  }
  /// Changes one parameter, and whatever else must change for such a kernel to exist.
  std::size_t neighbour() {
    GridPoint point = grid_.point(current_->candidate);
    if (grid_.dimensions() > 0) {
      const std::size_t parameter = random_.below(grid_.dimensions());
      point[parameter] = static_cast<std::uint16_t>(random_.below(grid_.values(parameter)));
    }
    return grid_.nearest(point, pool_, random_);
  }

  ParameterGrid grid_;
  CandidatePool pool_;
  Random random_;
  std::optional<Observation> current_;
  std::size_t seen_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(const SearchSpace& space, std::uint64_t seed) {
  return std::make_unique<Annealing>(space, seed);
}

}  // namespace rooftile
