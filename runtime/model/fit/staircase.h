// Number of workgroups that a device runs at once, from the steps in time as their number grows.
// Pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace rooftile {

/// Time of a dispatch of a number of equal workgroups, each of which takes long compared with a
/// launch.
struct Stair {
  std::size_t workgroups = 0;
  double ns = 0;
};

/// Returns the number of units u whose staircase, time(1) * ceil(workgroups / u), is nearest to all
/// measured times (least sum of absolute logarithms, the smallest u among equal ones). Empty input:
/// 1.
std::size_t units_of_staircase(std::span<const Stair> stairs);

/// Measures the informative stairs: numbers that grow by half until the third step is reached, then
/// those around the edge of the first. time_ns(workgroups) runs that many workgroups, at most
/// most_workgroups.
std::vector<Stair> climb(const std::function<double(std::size_t)>& time_ns,
                         std::size_t most_workgroups);

}  // namespace rooftile
