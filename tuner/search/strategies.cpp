#include "tuner/search/strategies.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tuner/search/candidate_pool.h"
#include "tuner/search/surrogate_search.h"

namespace rooftile {
namespace {

using Made = std::unique_ptr<Strategy>;

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

/// An order that is independent of measurements.
class FixedOrder : public Strategy {
 public:
  /// `size` is the number of candidates of the space; repeated candidates count once.
  FixedOrder(std::vector<std::size_t> order, std::size_t size)
      : order_(std::move(order)), pool_(size) {}

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

/// Without learning on this problem: starts, then candidates by measurements of the nearest other
/// problems and devices, then by the analytical model.
Made transferred_order(const SearchSpace& space) {
  std::vector<std::size_t> order = space.starts;
  for (const std::size_t candidate : ascending(space.transferred))
    if (!std::isnan(space.transferred[candidate])) order.push_back(candidate);
  std::ranges::copy(ascending(space.analytical_ns), std::back_inserter(order));
  return std::make_unique<FixedOrder>(std::move(order), space.variants.size());
}

struct Entry {
  std::string_view name;
  Made (*make)(const SearchSpace&, std::uint64_t seed);
};
constexpr Entry kStrategies[] = {
    // A surrogate that starts from the measurements of other problems and devices.
    {"auto",
     [](const SearchSpace& space, std::uint64_t) -> Made {
       return std::make_unique<SurrogateSearch>(space, Knowledge::kEverything);
     }},
    // All candidates, in the order of the model's predictions.
    {"exhaustive",
     [](const SearchSpace& space, std::uint64_t) -> Made {
       return std::make_unique<FixedOrder>(ascending(space.analytical_ns), space.variants.size());
     }},
    // A surrogate over this problem's own measurements only.
    {"model",
     [](const SearchSpace& space, std::uint64_t) -> Made {
       return std::make_unique<SurrogateSearch>(space, Knowledge::kProblem);
     }},
    // Uniformly random order, the baseline for all other strategies.
    {"random",
     [](const SearchSpace& space, std::uint64_t seed) -> Made {
       return std::make_unique<RandomOrder>(space, seed);
     }},
    {"transfer",
     [](const SearchSpace& space, std::uint64_t) -> Made { return transferred_order(space); }},
};

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kStrategies) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space,
                                        std::uint64_t seed) {
  for (const Entry& entry : kStrategies)
    if (entry.name == name) return entry.make(space, seed);
  fail(ErrorCode::kInvalidArgument, "unknown strategy '{}'; known: {}", name,
       fmt::join(strategy_names(), ", "));
}

}  // namespace rooftile
