// Typical sizes of groups, and how grouped problems are told apart.
#include "core/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rooftile {
namespace {

Problem in_groups(std::int64_t m, std::int64_t groups, std::int64_t largest = 0,
                  std::int64_t experts = 0) {
  return grouped_problem(
      m, 40, 24, {.experts = experts > 0 ? experts : groups, .groups = groups, .largest = largest});
}

std::vector<std::int64_t> sizes_of(const std::vector<Group>& groups) {
  std::vector<std::int64_t> sizes;
  for (const Group& group : groups) sizes.push_back(group.rows);
  return sizes;
}

TEST(TypicalGroups, ScatterAsRowsThatChooseAtRandom) {
  const Problem p = in_groups(4096, 64);
  const std::vector<std::int64_t> sizes = sizes_of(typical_groups(p));
  EXPECT_EQ(rows_of(typical_groups(p)), 4096);
  // 64 and some 2.4 deviations of 8, which is where the largest and the smallest of 64 are
  // expected.
  const auto [least, most] = std::ranges::minmax(sizes);
  EXPECT_GE(least, 64 - 3 * 8);
  EXPECT_LE(least, 64 - 2 * 8);
  EXPECT_GE(most, 64 + 2 * 8);
  EXPECT_LE(most, 64 + 3 * 8);
}

TEST(TypicalGroups, OfASkewedGroupingFallOffFromTheLargestToNone) {
  const Problem p = in_groups(1000, 32, 700);
  const std::vector<std::int64_t> sizes = sizes_of(typical_groups(p));
  EXPECT_EQ(rows_of(typical_groups(p)), 1000);
  EXPECT_EQ(sizes.front(), 700);
  EXPECT_GT(sizes[1], sizes[2]);
  EXPECT_EQ(sizes.back(), 0);
}

TEST(TypicalGroups, HaveAllRowsHoweverFewOrMany) {
  for (const auto& [m, groups, largest] :
       {std::tuple<std::int64_t, std::int64_t, std::int64_t>{8, 128, 0},
        {1, 5, 1},
        {7, 1, 7},
        {7, 1, 0},
        {100, 3, 100},
        {1'000'003, 7, 999'999},
        {12, 5, 5}}) {
    const std::vector<Group> list = typical_groups(in_groups(m, groups, largest));
    EXPECT_EQ(rows_of(list), m);
    EXPECT_EQ(static_cast<std::int64_t>(list.size()), groups);
    for (const Group& group : list) EXPECT_GE(group.rows, 0);
  }
  EXPECT_TRUE(typical_groups(in_groups(0, 0, 0, 1)).empty());
}

TEST(TypicalGrouping, IsTheSameForAllSizesOfABucket) {
  for (const std::int64_t largest : {0, 64, 127, 128, 200, 255, 256, 3000, 4096}) {
    const Problem p = in_groups(4096, 64, largest);
    Problem typical = p;
    typical.grouping = typical_grouping(p);
    EXPECT_EQ(bucket_of(typical), bucket_of(p)) << largest;
    EXPECT_EQ(typical_grouping(typical), typical.grouping) << largest;
  }
  EXPECT_EQ(typical_grouping(in_groups(4096, 64, 130)), typical_grouping(in_groups(4096, 64, 250)));
  EXPECT_EQ(typical_grouping(in_groups(4096, 64, 100)), typical_grouping(in_groups(4096, 64)));
}

TEST(Bucket, OfGroupsHasBandsOfTheirNumberAndSkew) {
  EXPECT_EQ(to_string(bucket_of(in_groups(4096, 64, 300))), "f32.nn.m12.n5.k4.b0.g6.s2");
  EXPECT_EQ(to_string(bucket_of(in_groups(4096, 64))), "f32.nn.m12.n5.k4.b0.g6.s0");
  EXPECT_NE(bucket_of(in_groups(4096, 1)), bucket_of(packed_problem(4096, 40, 24)));
}

TEST(SizeDistance, OfGroupsIsThatOfABatchOfGroupsOfMeanSize) {
  const Problem p = in_groups(4096, 64);
  EXPECT_EQ(size_distance(p, packed_problem(64, 40, 24, Transpose::kNo, Transpose::kNo, 64)), 0);
  EXPECT_EQ(size_distance(p, in_groups(2048, 32)), 1);              // as many rows in a group
  EXPECT_EQ(size_distance(p, in_groups(8192, 64)), 1);              // as many groups
  EXPECT_EQ(size_distance(p, in_groups(4096, 64, 256)), 4);         // a skew of 4
  EXPECT_EQ(size_distance(in_groups(8, 128), in_groups(8, 8)), 0);  // groups without rows
}

TEST(Problem, PrintsItsGroups) {
  EXPECT_EQ(to_string(in_groups(100, 8, 60, 9)),
            "100x40x24 nn in 8 groups of 9 experts, the largest 60");
  EXPECT_EQ(to_string(typical_problem(packed_problem(100, 40, 24), 8, 0, 1)),
            "100x40x24 nn in 8 groups of 8 experts");
}

TEST(TypicalProblem, HasTheSkewThatIsAskedForButNoMoreThanAllRows) {
  EXPECT_EQ(typical_problem(packed_problem(4096, 40, 24), 64, 0, 4).grouping.largest, 256);
  EXPECT_EQ(typical_problem(packed_problem(100, 40, 24), 4, 0, 1e30).grouping.largest, 100);
  EXPECT_NO_THROW(validate(typical_problem(packed_problem(100, 40, 24), 4, 9, 3)));
}

}  // namespace
}  // namespace rooftile
