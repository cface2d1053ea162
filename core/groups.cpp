#include "core/groups.h"

#include <algorithm>

#include "core/error.h"
#include "core/round.h"

namespace rooftile {

void validate(std::span<const Group> groups, std::int64_t rows, std::int64_t experts) {
  std::int64_t left = rows;  // Subtraction cannot overflow, as the sum of the sizes could.
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    if (group.rows < 0)
      fail(ErrorCode::kInvalidArgument, "group {} has {} rows; sizes must not be negative", g,
           group.rows);
    if (group.rows > left)
      fail(ErrorCode::kInvalidArgument,
           "group {} has {} rows, but of the m = {} rows the groups before it leave {}", g,
           group.rows, rows, left);
    left -= group.rows;
    if (group.expert < 0 || group.expert >= experts)
      fail(ErrorCode::kInvalidArgument, "group {} has expert {}, but there are {} experts", g,
           group.expert, experts);
  }
}

std::int64_t rows_of(std::span<const Group> groups) {
  std::int64_t rows = 0;
  for (const Group& group : groups) rows += group.rows;
  return rows;
}

Grouping grouping_of(std::span<const Group> groups, std::int64_t experts) {
  Grouping grouping = {.experts = experts, .groups = static_cast<std::int64_t>(groups.size())};
  for (const Group& group : groups) grouping.largest = std::max(grouping.largest, group.rows);
  return grouping;
}

std::vector<GroupTile> group_tiles(std::span<const Group> groups, std::int64_t tile_m) {
  std::vector<GroupTile> tiles;
  std::int64_t first = 0;
  for (const Group& group : groups) {
    for (std::int64_t row = 0; row < group.rows; row += tile_m)
      tiles.push_back({.expert = static_cast<std::uint32_t>(group.expert),
                       .first_row = static_cast<std::uint32_t>(first + row),
                       .rows = static_cast<std::uint32_t>(std::min(tile_m, group.rows - row))});
    first += group.rows;
  }
  return tiles;
}

std::int64_t most_group_tiles(std::int64_t m, std::int64_t groups, std::int64_t tile_m) {
  // g groups with rows have at most (m - g) / tile_m + g tiles, which grows with g.
  const std::int64_t filled = std::min(m, groups);
  return (m - filled) / tile_m + filled;
}

std::vector<Group> typical_groups(const Problem& p) {
  const Grouping& g = p.grouping;
  std::vector<Group> groups(static_cast<std::size_t>(g.groups));
  std::int64_t left = p.m;
  for (std::int64_t i = 0; i < g.groups; ++i) {
    const std::int64_t even = divide_up(left, g.groups - i);
    const std::int64_t rows = i == 0 && g.largest > 0 ? std::min(g.largest, p.m) : even;
    groups[static_cast<std::size_t>(i)] = {.expert = i % g.experts, .rows = rows};
    left -= rows;
  }
  return groups;
}

}  // namespace rooftile
