#include "core/groups.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/round.h"

namespace rooftile {
namespace {

constexpr double kSkewed = 2;  // The least skew of Bucket's second band.

/// Sizes that the mean and its root scatter by, as those of rows that choose at random, largest
/// first.
std::vector<double> scattered_weights(const Problem& p) {
  // A logistic curve with this slope is nowhere 1 % off the normal distribution's.
  constexpr double kSlope = 1.702;
  const auto count = static_cast<double>(p.grouping.groups);
  const double mean = static_cast<double>(p.m) / count;
  std::vector<double> weights;
  for (double i = 0; i < count; ++i) {
    const double above = (i + 0.5) / count;
    const double deviations = std::log((1 - above) / above) / kSlope;
    weights.push_back(std::max(mean + std::sqrt(mean) * deviations, 0.0));
  }
  return weights;
}

/// (i + 1)^-s, with the s for which the first group has its share of the rows.
std::vector<double> falling_weights(const Problem& p) {
  const auto groups = static_cast<std::size_t>(p.grouping.groups);
  const double wanted = static_cast<double>(p.grouping.largest) / static_cast<double>(p.m);
  std::vector<double> weights(groups);
  double low = 0, high = 64;  // 2^-64 of the first is no row.
  for (int step = 0; step < 64; ++step) {
    const double s = (low + high) / 2;
    double all = 0;
    for (std::size_t i = 0; i < groups; ++i) {
      weights[i] = std::pow(static_cast<double>(i + 1), -s);
      all += weights[i];
    }
    (1 / all < wanted ? low : high) = s;
  }
  return weights;
}

}  // namespace

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
  std::vector<Group> groups(static_cast<std::size_t>(std::max<std::int64_t>(g.groups, 0)));
  if (groups.empty()) return groups;
  const std::vector<double> weights = skew(p) < kSkewed ? scattered_weights(p) : falling_weights(p);
  double weight = 0, all = 0;
  for (const double x : weights) all += x;
  // Rounding the sums instead of the sizes makes these add up to m.
  std::int64_t before = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    weight += weights[i];
    const std::int64_t until =
        i + 1 == groups.size() ? p.m : std::llround(static_cast<double>(p.m) * weight / all);
    groups[i] = {.expert = static_cast<std::int64_t>(i) % g.experts,
                 .rows = std::max<std::int64_t>(until - before, 0)};
    before = std::max(before, until);
  }
  return groups;
}

Grouping typical_grouping(const Problem& p) {
  Grouping typical = p.grouping;
  const double ratio = skew(p);
  if (ratio < kSkewed) {
    typical.largest = 0;
    return typical;
  }
  const double mean = static_cast<double>(p.m) / static_cast<double>(filled_groups(p));
  const double band = std::exp2(std::floor(std::log2(ratio)));
  typical.largest = std::min(p.m, static_cast<std::int64_t>(std::ceil(band * mean)));
  return typical;
}

Problem typical_problem(const Problem& p, std::int64_t groups, std::int64_t experts, double skew) {
  Problem grouped = p;
  grouped.grouping = {.experts = experts > 0 ? experts : groups, .groups = groups};
  const double mean = static_cast<double>(p.m) / static_cast<double>(filled_groups(grouped));
  grouped.grouping.largest =
      static_cast<std::int64_t>(std::ceil(std::min(skew * mean, static_cast<double>(p.m))));
  grouped.grouping = typical_grouping(grouped);
  return retyped(grouped, p.types);
}

Problem equal_batch(const Problem& p, std::int64_t matrices) {
  const std::int64_t m = divide_up(std::max<std::int64_t>(p.m, 1), matrices);
  Problem batch = packed_problem(m, p.n, p.k, p.trans_a, p.trans_b, matrices, p.types);
  batch.alpha = p.alpha;
  batch.beta = p.beta;
  batch.epilogue = p.epilogue;
  return batch;
}

}  // namespace rooftile
