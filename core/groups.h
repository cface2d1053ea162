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

/// One row of tiles of a grouped GEMM, as kernels read it (templates/common/problem_grouped.glsl):
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

/// Sizes that tuner and benches use for a grouping: the first group has `largest` rows (0: as the
/// others), the others share the rest evenly, and group i has expert i % experts.
std::vector<Group> typical_groups(const Problem& p);

}  // namespace rooftile
