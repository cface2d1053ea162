// Which requests find the plan of another one.
#include "runtime/dispatch/plan_cache.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

class PlanCacheTest : public ::testing::Test {
 protected:
  Request request() const { return {.call = &call_}; }
  bool finds(const Request& r, std::uint64_t generation = 7) {
    return cache_->find(r, generation) != nullptr;
  }

  GemmCall call_ = {.problem = packed_problem(10, 20, 30)};
  std::unique_ptr<PlanCache> cache_ = std::make_unique<PlanCache>();
};

TEST_F(PlanCacheTest, APlanIsFoundByTheSameRequestOnly) {
  cache_->store(request(), 7, {.tier = Tier::kHost1});
  ASSERT_TRUE(finds(request()));
  EXPECT_EQ(cache_->find(request(), 7)->plan.tier, Tier::kHost1);
  EXPECT_FALSE(finds(request(), 8)) << "the state has changed";
  Request other = request();
  other.devices = Devices::kAll;
  EXPECT_FALSE(finds(other));
  other = request();
  other.tier = TierChoice::kDevice;
  EXPECT_FALSE(finds(other));
  GemmCall call = call_;
  call.problem.k = 31;
  EXPECT_FALSE(finds({.call = &call}));
}

TEST_F(PlanCacheTest, APackedOperandAloneHasAPlanOfItsOwn) {
  const auto packed = std::make_shared<PackedOperand>();
  const float b = 0;
  call_.packed = packed;
  call_.b = &b;
  cache_->store(request(), 7, {});
  EXPECT_TRUE(finds(request()));
  call_.b = nullptr;
  EXPECT_FALSE(finds(request())) << "the host cannot answer this one";
  call_.b = &b;
  call_.packed = nullptr;
  EXPECT_FALSE(finds(request()));
}

// Otherwise plans, and what they have learnt, would be lost at each call of a program that takes
// turns.
TEST_F(PlanCacheTest, SplitsAndContextsOfOneProblemDoNotDisplaceEachOther) {
  Request split = request();
  split.devices = Devices::kAll;
  for (const Request& r : {request(), split})
    for (const std::uint64_t generation : {7, 8, 9}) cache_->store(r, generation, {});
  for (const Request& r : {request(), split})
    for (const std::uint64_t generation : {7, 8, 9}) EXPECT_TRUE(finds(r, generation));
}

TEST_F(PlanCacheTest, CallsThatMayBeRoundedAreCountedByPlansOfTheirOwn) {
  cache_->store(request(), 7, {});
  Request half = request();
  half.guard.precision = Precision::kHalf;
  EXPECT_FALSE(finds(half));
  cache_->store(half, 7, {});
  EXPECT_TRUE(finds(half));
  EXPECT_FALSE(finds(request()));
}

TEST_F(PlanCacheTest, PlansThatDependOnMoreAreNotKept) {
  EXPECT_TRUE(PlanCache::keeps(request()));
  Request r = request();
  r.guard.check_spots = true;
  EXPECT_FALSE(PlanCache::keeps(r)) << "earlier checks decide as well";
  r = request();
  r.guard.precision = Precision::kRelaxed;
  EXPECT_TRUE(PlanCache::keeps(r)) << "that asks for nothing";
  r.tier = TierChoice::kDevice;
  EXPECT_FALSE(PlanCache::keeps(r));
  call_.packed = std::make_shared<PackedOperand>();
  EXPECT_TRUE(PlanCache::keeps(r));
}

}  // namespace
}  // namespace rooftile
