#include "runtime/device/physical/subgroups.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

const ReportedSubgroups kGpu = {.size = 32,
                                .broadcast = true,
                                .size_control = true,
                                .least = 16,
                                .most = 64,
                                .max_workgroup_subgroups = 32};

DeviceLimits limits_for(const ReportedSubgroups& reported) {
  DeviceLimits limits;
  take_subgroups(reported, limits);
  return limits;
}

TEST(Subgroups, AreTakenAsReported) {
  const DeviceLimits limits = limits_for(kGpu);
  EXPECT_EQ(limits.subgroup_size, 32u);
  EXPECT_EQ(limits.min_subgroup_size, 16u);
  EXPECT_EQ(limits.max_subgroup_size, 64u);
  EXPECT_TRUE(limits.subgroup_broadcast);
  EXPECT_TRUE(limits.subgroup_size_control);
  EXPECT_EQ(limits.max_workgroup_subgroups, 32u);
}

TEST(Subgroups, OfImpossibleSizesAreNotUsed) {
  for (std::uint32_t nonsense : {0u, 3u, 24u, 256u, 0xffffffffu}) {
    ReportedSubgroups reported = kGpu;
    reported.size = nonsense;
    const DeviceLimits limits = limits_for(reported);
    EXPECT_EQ(limits.subgroup_size, 1u) << nonsense;
    EXPECT_EQ(limits.max_subgroup_size, 1u) << nonsense;
    EXPECT_FALSE(limits.subgroup_broadcast) << nonsense;
    EXPECT_FALSE(limits.subgroup_size_control) << nonsense;
  }
}

TEST(Subgroups, OfAnImpossibleRangeHaveTheDefaultOnly) {
  for (const auto& [least, most] :
       {std::pair{0u, 64u}, std::pair{16u, 0u}, std::pair{64u, 16u}, std::pair{12u, 64u}}) {
    ReportedSubgroups reported = kGpu;
    reported.least = least;
    reported.most = most;
    const DeviceLimits limits = limits_for(reported);
    EXPECT_FALSE(limits.subgroup_size_control) << least << " to " << most;
    EXPECT_EQ(limits.min_subgroup_size, 32u);
    EXPECT_EQ(limits.max_subgroup_size, 32u);
  }
}

}  // namespace
}  // namespace rooftile
