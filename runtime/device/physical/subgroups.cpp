#include "runtime/device/physical/subgroups.h"

#include <bit>

namespace rooftile {

bool is_subgroup_size(std::uint32_t size) { return std::has_single_bit(size) && size <= 128; }

void take_subgroups(const ReportedSubgroups& reported, DeviceLimits& limits) {
  if (!is_subgroup_size(reported.size)) {
    limits.subgroup_size = limits.min_subgroup_size = limits.max_subgroup_size = 1;
    limits.subgroup_broadcast = limits.subgroup_size_control = false;
    return;
  }
  limits.subgroup_size = limits.min_subgroup_size = limits.max_subgroup_size = reported.size;
  limits.subgroup_broadcast = reported.broadcast;
  limits.subgroup_size_control = reported.size_control && is_subgroup_size(reported.least) &&
                                 is_subgroup_size(reported.most) && reported.least <= reported.most;
  if (!limits.subgroup_size_control) return;
  limits.min_subgroup_size = reported.least;
  limits.max_subgroup_size = reported.most;
  limits.max_workgroup_subgroups = reported.max_workgroup_subgroups;
}

}  // namespace rooftile
