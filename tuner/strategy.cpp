#include "tuner/strategy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "core/error.h"
#include "tuner/random.h"

namespace rooftile {
namespace {

std::vector<std::size_t> by_analytical_time(std::span<const double> analytical_ns) {
  std::vector<std::size_t> order(analytical_ns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return analytical_ns[x] < analytical_ns[y];
  });
  return order;
}

// Both strategies are a fixed order; what was measured does not change it.
class FixedOrder : public Strategy {
 public:
  explicit FixedOrder(std::vector<std::size_t> order) : order_(std::move(order)) {}

  std::vector<std::size_t> propose(std::span<const Observation>, std::size_t count) override {
    const std::size_t end = std::min(next_ + count, order_.size());
    const std::vector<std::size_t> batch(order_.begin() + static_cast<std::ptrdiff_t>(next_),
                                         order_.begin() + static_cast<std::ptrdiff_t>(end));
    next_ = end;
    return batch;
  }

 private:
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

std::unique_ptr<Strategy> exhaustive(std::span<const double> analytical_ns, std::uint64_t) {
  return std::make_unique<FixedOrder>(by_analytical_time(analytical_ns));
}

std::unique_ptr<Strategy> random(std::span<const double> analytical_ns, std::uint64_t seed) {
  const std::vector<std::size_t> ranked = by_analytical_time(analytical_ns);
  std::vector<std::size_t> shuffled = ranked;
  Random generator(seed);
  for (std::size_t i = shuffled.size(); i > 1; --i)
    std::swap(shuffled[i - 1], shuffled[generator.below(i)]);
  std::vector<std::size_t> order;
  std::vector<bool> taken(ranked.size(), false);
  const auto take = [&](std::size_t candidate) {
    if (!taken[candidate]) order.push_back(candidate);
    taken[candidate] = true;
  };
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    take(ranked[i]);
    take(shuffled[i]);
  }
  return std::make_unique<FixedOrder>(std::move(order));
}

struct Entry {
  std::string_view name;
  std::unique_ptr<Strategy> (*make)(std::span<const double>, std::uint64_t);
};
constexpr std::array kStrategies = {Entry{"exhaustive", exhaustive}, Entry{"random", random}};

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kStrategies) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name,
                                        std::span<const double> analytical_ns, std::uint64_t seed) {
  for (const Entry& entry : kStrategies)
    if (entry.name == name) return entry.make(analytical_ns, seed);
  fail(ErrorCode::kInvalidArgument, "unknown strategy '{}'; known: {}", name,
       fmt::join(strategy_names(), ", "));
}

}  // namespace rooftile
