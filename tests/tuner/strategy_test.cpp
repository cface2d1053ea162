#include "tuner/strategy.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"

namespace rooftile {
namespace {

std::vector<std::size_t> all_of(Strategy& strategy) {
  std::vector<std::size_t> order;
  for (auto batch = strategy.propose({}, 7); !batch.empty(); batch = strategy.propose({}, 7))
    order.insert(order.end(), batch.begin(), batch.end());
  return order;
}

TEST(StrategyTest, EveryOneCoversTheSpaceWithoutRepeats) {
  std::vector<double> analytical(100);
  for (std::size_t i = 0; i < analytical.size(); ++i)
    analytical[i] = static_cast<double>((i * 37) % 100);
  for (const std::string& name : strategy_names()) {
    const auto order = all_of(*make_strategy(name, analytical, 3));
    EXPECT_EQ(order.size(), analytical.size()) << name;
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), analytical.size()) << name;
    EXPECT_EQ(order, all_of(*make_strategy(name, analytical, 3)))
        << name << " differs for one seed";
  }
  EXPECT_NE(all_of(*make_strategy("random", analytical, 3)),
            all_of(*make_strategy("random", analytical, 4)));
}

TEST(StrategyTest, ExhaustiveGoesByTheModel) {
  const std::vector<double> analytical = {5, 1, 3};
  EXPECT_EQ(all_of(*make_strategy("exhaustive", analytical, 0)),
            (std::vector<std::size_t>{1, 2, 0}));
}

TEST(StrategyTest, UnknownNamesAreRefused) {
  EXPECT_THROW(make_strategy("genetic?", {}, 0), Error);
}

}  // namespace
}  // namespace rooftile
