// Grouped calls with kernels that were tuned for groups: which one is used, that what is wrong with
// groups is noticed as before, and which calls are counted as untuned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/groups.h"
#include "db/store.h"
#include "generator/emit.h"
#include "generator/version.h"
#include "runtime/device/device.h"
#include "tests/support/first_device.h"
#include "tests/support/grouped_resident.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class GroupedTuned : public GroupedResident {
 protected:
  void SetUp() override {
    profile_ = first_device();
    Store store(database());
    store.add_calibration(store.device_id(profile_), to_figures(fast_host()));
  }
  /// Certified kernels of the problem's bucket, best first.
  void tune(const Problem& p, const std::vector<Variant>& ranked) {
    Store store(database());
    std::vector<PlantedKernel> kernels;
    for (const Variant& variant : ranked)
      kernels.push_back({.variant = variant,
                         .kernel_ns = 1e5 * static_cast<double>(kernels.size() + 1),
                         .pack_ns = variant.packed_b == Packed::kYes ? 1e6 : 0});
    plant_winners(store, store.device_id(profile_), p, kernels);
  }
  /// The problem that the tuner would take for the groups of these tests, with another n.
  static Problem typical(std::int64_t n = 37) {
    Problem p = grouped_problem(27, n, 29, grouping_of(kResidentGroups, kResidentExperts));
    p.grouping = typical_grouping(p);
    return p;
  }
  std::string kernel_of(GroupedProduct& x) {
    rooftile_grouped_operands places = {.struct_size = sizeof places, .operands = &operands_};
    operands_.struct_size = sizeof operands_;
    rooftile_prepared prepared = {.struct_size = sizeof prepared};
    x.args.batch = 1;
    EXPECT_EQ(
        rooftile_resident_prepare_grouped(session_->get(), &x.args, &x.groups, &places, &prepared),
        ROOFTILE_OK)
        << rooftile_last_error();
    return prepared.kernel;
  }

  DeviceProfile profile_;
  const Variant tuned_ =
                    parse_variant("family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4"),
                other_ =
                    parse_variant("family=register tile_m=4 tile_n=16 reg_m=2 reg_n=4 unroll_k=4"),
                packed_ = parse_variant(
                    "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 "
                    "vector_width_b=4 packed_b=yes");
};

TEST_F(GroupedTuned, TheKernelOfTheBucketComputesCalls) {
  tune(typical(74), {other_});
  tune(typical(), {tuned_});
  open();
  GroupedProduct x(grouped_case(kResidentGroups, kResidentExperts));
  upload(x);
  EXPECT_EQ(kernel_of(x), short_name(tuned_));
  grouped_gemm(*session_, x.args, x.groups, operands_).wait();
  download(x);
  x.expect_right();
}

TEST_F(GroupedTuned, WhatIsWrongWithGroupsIsNoticed) {
  tune(typical(), {tuned_});
  open();
  GroupedProduct x(grouped_case({{2, 5}, {1, 3}}, kResidentExperts, {}, {}, 19));
  x.rows.push_back(4);
  x.experts.push_back(kResidentExperts);
  x.groups.count = 3;
  x.groups.rows = x.rows.data();
  x.groups.experts_of_groups = x.experts.data();
  upload(x);
  EXPECT_THROW(grouped_gemm(*session_, x.args, x.groups, operands_), StatusError);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("group 2 has expert 5"));
  rooftile_grouped_operands groups = on_device(x);
  grouped_gemm(*session_, x.args, x.groups, operands_, groups).wait();
  download(x);
  x.expect_right();
  EXPECT_EQ(status(), ROOFTILE_GROUPS_UNKNOWN_EXPERT);
  const std::vector<std::int32_t> too_large = {0x7fffffff, 0x7fffffff, 4};
  sizes_.upload(too_large.data(), too_large.size() * sizeof too_large[0]);
  GroupedProduct untouched(grouped_case({{2, 5}, {1, 3}}, kResidentExperts, {}, {}, 19));
  operands_.c.buffer = nullptr;
  buffers_.emplace_back(*session_, untouched.after().size());
  buffers_.back().upload(untouched.after().data(), untouched.after().size());
  operands_.c = buffers_.back().at(untouched.x.placement.offset_c);
  grouped_gemm(*session_, x.args, x.groups, operands_, groups).wait();
  download(untouched);
  EXPECT_TRUE(untouched.c_is_untouched());
  EXPECT_EQ(status(), ROOFTILE_GROUPS_TOO_LARGE);
}

TEST_F(GroupedTuned, ExpertsArePackedForTheKernelThatWasTunedWithThem) {
  tune(typical(), {tuned_, other_, packed_});
  open();
  GroupedProduct x(grouped_case(kResidentGroups, kResidentExperts));
  upload(x);
  const PackedExperts packed(*session_, x.args, x.groups, {.b = operands_.b});
  operands_.b = {};
  x.args.packed = packed.get();
  x.args.ldb = x.args.stride_b = 0;
  EXPECT_EQ(kernel_of(x), short_name(packed_));
  grouped_gemm(*session_, x.args, x.groups, operands_).wait();
  download(x);
  x.expect_right();
}

TEST_F(GroupedTuned, CallsOutsideOfTunedBucketsAreCounted) {
  tune(typical(74), {other_});  // Near enough to compute them without another certificate.
  open();
  GroupedProduct x(grouped_case(kResidentGroups, kResidentExperts));
  GroupedProduct on_host(grouped_case(kResidentGroups, kResidentExperts));
  on_host.args.tier = ROOFTILE_TIER_DEVICE;
  on_host.args.batch = 1;
  ASSERT_EQ(rooftile_grouped_gemm(session_->get(), &on_host.args, &on_host.groups), ROOFTILE_OK)
      << rooftile_last_error();
  on_host.expect_right();
  upload(x);
  EXPECT_EQ(kernel_of(x), short_name(other_));
  {
    DeviceList list(*session_);
    grouped_gemm(list, x.args, x.groups, operands_);
    grouped_gemm(*session_, x.args, x.groups, operands_).wait();
  }
  const auto counted = [&] {
    session_.reset();
    buffers_.clear();
    Store store(database());
    return store.untuned_problems(store.device_id(profile_));
  };
  const std::vector<UntunedProblem> found = counted();
  // On device buffers m counts the two rows behind the groups, which only the call knows of.
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].calls, 2);
  EXPECT_EQ(found[0].problem.m, 29);
  Problem expected = typical();
  expected.beta = 1;
  EXPECT_EQ(found[1].problem, expected);
  EXPECT_EQ(found[1].calls, 1);
  tune(typical(), {tuned_});
  EXPECT_THAT(counted(), SizeIs(0)) << "29 rows are in the same bucket as 27";
}

}  // namespace
}  // namespace rooftile
