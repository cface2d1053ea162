// Grouped calls on host memory, on the host tiers and on the device, and which of them are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <rooftile/rooftile.hpp>

#include "core/groups.h"
#include "tests/support/first_device.h"
#include "tests/support/grouped_product.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

/// Uneven and empty groups, in which the experts are not in their order and one is left out.
const std::vector<Group> kGroups = {{2, 5}, {0, 0}, {3, 1}, {0, 19}, {3, 2}};
constexpr std::int64_t kExperts = 5;

const Epilogue kEpilogue = parse_epilogue("row_scale+column_scale+bias_column+silu+residual+clamp");

class GroupedTest : public ::testing::Test {
 protected:
  GroupedTest() {
    const std::string none = (folder_ / "none.db").string();
    session_ = std::make_unique<Session>(rooftile_options{.database_path = none.c_str()});
  }
  void expect_right_on(rooftile_tier tier, const Types& types, const Epilogue& epilogue = {}) {
    GroupedProduct product(grouped_case(kGroups, kExperts, types, epilogue));
    product.args.tier = tier;
    ASSERT_EQ(rooftile_grouped_gemm(session_->get(), &product.args, &product.groups), ROOFTILE_OK)
        << rooftile_last_error() << " " << to_string(types);
    product.expect_right();
    EXPECT_EQ(session_->last_decision().tier, tier);
  }
  void expect_refused(const std::string& message,
                      const std::function<void(GroupedProduct&)>& change, const Types& types = {}) {
    GroupedProduct product(grouped_case(kGroups, kExperts, types, kEpilogue));
    change(product);
    EXPECT_EQ(rooftile_grouped_gemm(session_->get(), &product.args, &product.groups),
              ROOFTILE_INVALID_ARGUMENT)
        << message;
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
    EXPECT_TRUE(product.c_is_untouched()) << message;
  }

  ScratchFolder folder_;
  ScopedEnvironment cache_{"ROOFTILE_CACHE", (folder_ / "cache").string()};
  std::unique_ptr<Session> session_;
};

TEST(Groups, TilesCoverTheRowsOfEachGroupAndNoMore) {
  const std::vector<GroupTile> tiles = group_tiles(kGroups, 8);
  const std::vector<GroupTile> expected = {{2, 0, 5},  {3, 5, 1},  {0, 6, 8},
                                           {0, 14, 8}, {0, 22, 3}, {3, 25, 2}};
  EXPECT_EQ(tiles, expected);
  // The bound is attained by groups of one row, but for a last one with the rest.
  EXPECT_EQ(
      most_group_tiles(27, 5, 8),
      static_cast<std::int64_t>(
          group_tiles(std::vector<Group>{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 23}}, 8).size()));
  EXPECT_EQ(most_group_tiles(3, 64, 8), 3);
  EXPECT_EQ(most_group_tiles(0, 64, 8), 0);
}

TEST(Groups, TypicalGroupsHaveAllRowsAndTheLargestSize) {
  const Problem p = grouped_problem(100, 8, 8, {.experts = 4, .groups = 6, .largest = 50});
  const std::vector<Group> groups = typical_groups(p);
  EXPECT_EQ(rows_of(groups), 100);
  EXPECT_EQ(groups.front().rows, 50);
  EXPECT_EQ(grouping_of(groups, 4), p.grouping);
}

TEST_F(GroupedTest, EveryHostTierIsRightForEveryType) {
  for (const rooftile_tier tier : {ROOFTILE_TIER_HOST, ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64})
    for (const char* types :
         {"f32", "f16_f16", "bf16", "u8", "f32xq4b32z", "f16xq8b64_f16", "f32xq4_k", "f64"})
      expect_right_on(tier, parse_types(types), kEpilogue);
  expect_right_on(ROOFTILE_TIER_HOST, parse_types("i8_i32"));
}

TEST_F(GroupedTest, TheDeviceIsRightForEveryKindOfOperand) {
  expect_right_on(ROOFTILE_TIER_DEVICE, {});
  if (first_device().limits.float64_arithmetic)
    expect_right_on(ROOFTILE_TIER_DEVICE, parse_types("f64"), kEpilogue);
  for (const char* types : {"f16_f16", "f32xq4b32z", "f32xq4_0"})
    expect_right_on(ROOFTILE_TIER_DEVICE, parse_types(types), kEpilogue);
}

TEST_F(GroupedTest, LargeGroupsAreRightOnSeveralThreadsAndOneThatBlasDividesToo) {
  for (const std::vector<Group>& groups :
       {std::vector<Group>{{0, 30000}, {4, 6000}, {2, 6000}, {4, 7000}},
        {{0, 12000}, {1, 12500}, {3, 12000}, {2, 12000}}}) {
    GroupedProduct product(grouped_case(groups, kExperts));
    product.args.tier = ROOFTILE_TIER_HOST;
    grouped_gemm(*session_, product.args, product.groups);
    product.expect_right();
  }
}

TEST_F(GroupedTest, AutoIsRightForManySmallGroups) {
  std::vector<Group> groups;
  for (std::int64_t g = 0; g < 64; ++g) groups.push_back({g % kExperts, g % 4});
  GroupedProduct product(grouped_case(groups, kExperts, {}, kEpilogue));
  grouped_gemm(*session_, product.args, product.groups);
  product.expect_right();
}

TEST_F(GroupedTest, NothingToDoWritesNothing) {
  for (const std::vector<Group>& groups : {std::vector<Group>{}, {{0, 0}, {1, 0}}}) {
    GroupedProduct product(grouped_case(groups, kExperts));
    grouped_gemm(*session_, product.args, product.groups);
    EXPECT_TRUE(product.c_is_untouched());
  }
}

TEST_F(GroupedTest, WithoutExpertsOfGroupsGroupGHasExpertG) {
  const std::vector<Group> groups = {{0, 3}, {1, 0}, {2, 4}};
  GroupedProduct product(grouped_case(groups, 3));
  product.groups.experts_of_groups = nullptr;
  grouped_gemm(*session_, product.args, product.groups);
  product.expect_right();
}

TEST_F(GroupedTest, WrongGroupsAreRefused) {
  expect_refused("group 2 has expert 5, but there are 5 experts",
                 [](GroupedProduct& x) { x.experts[2] = 5; });
  expect_refused("group 0 has expert -1", [](GroupedProduct& x) { x.experts[0] = -1; });
  expect_refused("group 3 has -1 rows", [](GroupedProduct& x) { x.rows[3] = -1; });
  expect_refused("group 3 has 49 rows", [](GroupedProduct& x) { x.rows[3] += 30; });
  // The sum of these sizes overflows.
  expect_refused("group 1 has 9223372036854775807 rows",
                 [](GroupedProduct& x) { x.rows[1] = std::numeric_limits<std::int64_t>::max(); });
  expect_refused("groups->rows is null", [](GroupedProduct& x) { x.groups.rows = nullptr; });
  expect_refused("groups->count is -1", [](GroupedProduct& x) { x.groups.count = -1; });
  expect_refused("groups->experts is 0", [](GroupedProduct& x) { x.groups.experts = 0; });
  expect_refused("group 4 has expert 4", [](GroupedProduct& x) {
    x.groups.experts = 4;
    x.groups.experts_of_groups = nullptr;
  });
}

TEST_F(GroupedTest, WrongOperandsAreRefused) {
  expect_refused("batch is 2", [](GroupedProduct& x) { x.args.batch = 2; });
  expect_refused("not transposed", [](GroupedProduct& x) {
    x.args.trans_a = ROOFTILE_TRANSPOSE;
    x.args.lda = x.args.m;
  });
  expect_refused("stride_b is 5", [](GroupedProduct& x) { x.args.stride_b = 5; });
  expect_refused("do not fit an address space", [](GroupedProduct& x) {
    x.args.stride_b = std::numeric_limits<std::int64_t>::max() / 8;
  });
  expect_refused("stride_columns is 36", [](GroupedProduct& x) { x.groups.stride_columns = 36; });
  expect_refused("are too many", [](GroupedProduct& x) {
    x.groups.stride_columns = std::numeric_limits<std::int64_t>::max();
  });
  expect_refused("b is null", [](GroupedProduct& x) { x.args.b = nullptr; });
  // C would lie in the B of the last expert.
  expect_refused("c overlaps b", [](GroupedProduct& x) {
    x.args.b = static_cast<const float*>(x.args.c) - (kExperts - 1) * x.args.stride_b;
  });
  const Types blocks = parse_types("f32xq4_k");
  expect_refused(
      "batch is 2", [](GroupedProduct& x) { x.args.batch = 2; }, blocks);
  expect_refused(
      "n, k and 6 experts need", [](GroupedProduct& x) { x.groups.experts = 6; }, blocks);
}

}  // namespace
}  // namespace rooftile
