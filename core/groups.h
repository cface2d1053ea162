// The groups of a grouped GEMM (Grouping in core/problem.h): sizes and experts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/problem.h"

namespace rooftile {

/// Consecutive rows of A and C, which are multiplied with the B of this expert.
struct Group {
  std::int64_t expert = 0, rows = 0;

  bool operator==(const Group&) const = default;
};

/// Throws kInvalidArgument, naming the group, for a negative size, for sizes whose sum exceeds
/// `rows` (the sum may be less: the last rows then belong to no group), and for an expert that is
/// not one of `experts`.
void validate(std::span<const Group> groups, std::int64_t rows, std::int64_t experts);

/// Rows of all groups, which are valid.
std::int64_t rows_of(std::span<const Group> groups);

/// The grouping that these groups of so many experts have.
Grouping grouping_of(std::span<const Group> groups, std::int64_t experts);

/// One row of tiles of a grouped GEMM, as kernels read it (templates/common/problem.glsl):
/// rows [first_row, first_row + rows) of A and C, which belong to one group. A tile of 0 rows
/// computes nothing.
struct GroupTile {
  std::uint32_t expert = 0, first_row = 0, rows = 0, unused = 0;

  bool operator==(const GroupTile&) const = default;
};
/// The tiles of valid groups, in the order of the rows: each group is cut every tile_m rows.
std::vector<GroupTile> group_tiles(std::span<const Group> groups, std::int64_t tile_m);
/// The most tiles that any groups with m rows in all can have: ceil(m / tile_m) and one more for
/// each further group that can have rows.
std::int64_t most_group_tiles(std::int64_t m, std::int64_t groups, std::int64_t tile_m);

/// Sizes that tuner and benches use for a grouping; group i has expert i % experts. Where the skew
/// is below 2, or not known, the sizes scatter as those of rows that choose groups at random: equal
/// ones would favour kernels whose tiles happen to divide them. Otherwise the first group has
/// `largest` rows, and the others fall off by a power of their number, down to no rows.
std::vector<Group> typical_groups(const Problem& p);

/// The grouping with the same typical sizes as every other one of its skew band (Bucket): what is
/// tuned and logged, so that the sizes of each call make no problem of their own.
Grouping typical_grouping(const Problem& p);

/// The most groups or experts of a problem that is tuned: more than any model has.
inline constexpr std::int64_t kMostTunedGroups = 1 << 20;
/// p with its rows in so many groups, of which the largest has `skew` times the mean rows. experts
/// 0: one for each group.
Problem typical_problem(const Problem& p, std::int64_t groups, std::int64_t experts, double skew);

/// The batch of as many matrices, of equal sizes, with as much work: what models of calls know.
Problem equal_batch(const Problem& p, std::int64_t matrices);

}  // namespace rooftile
