// Grouped calls on device buffers: sizes from the host, sizes that only the device knows, and what
// is reported where these are wrong.
#include "tests/support/grouped_resident.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/with.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

TEST_F(GroupedResident, SizesFromTheHost) {
  GroupedProduct x(
      grouped_case(kResidentGroups, kResidentExperts, parse_types("f32xq8b32z"),
                   parse_epilogue("row_scale+column_scale+bias_column+relu+residual")));
  upload(x);
  grouped_gemm(*session_, x.args, x.groups, operands_).wait();
  download(x);
  x.expect_right();
}

TEST_F(GroupedResident, SizesFromTheDevice) {
  GroupedProduct x(
      grouped_case(kResidentGroups, kResidentExperts, {}, parse_epilogue("bias_row+relu")));
  upload(x);
  const rooftile_grouped_operands groups = on_device(x);
  grouped_gemm(*session_, x.args, x.groups, operands_, groups).wait();
  download(x);
  x.expect_right();
  EXPECT_EQ(status(), ROOFTILE_GROUPS_RIGHT);
}

TEST_F(GroupedResident, AListReadsTheSizesWhenItRuns) {
  GroupedProduct x(grouped_case(kResidentGroups, kResidentExperts));
  x.test.problem.beta = x.args.beta = 0;
  upload(x);
  const std::vector<std::int32_t> sizes(x.rows.begin(), x.rows.end());
  rooftile_grouped_operands groups = on_device(x);
  groups.status = {};
  const std::vector<std::int32_t> wrong(sizes.size(), 1000);
  sizes_.upload(wrong.data(), wrong.size() * sizeof wrong[0]);
  DeviceList list(*session_);
  list.upload(sizes_, sizes.data(), sizes.size() * sizeof sizes[0]);
  grouped_gemm(list, x.args, x.groups, operands_, groups);
  list.run().wait();
  list.run().wait();
  download(x);
  x.expect_right();
}

TEST_F(GroupedResident, AnUnknownExpertsGroupIsLeftAloneAndReported) {
  for (const std::int64_t unknown : {kResidentExperts, std::int64_t{-1}}) {
    GroupedProduct x(grouped_case({{2, 5}, {1, 3}}, kResidentExperts, {}, {}, 4));
    x.rows.push_back(4);
    x.experts.push_back(unknown);
    x.groups.count = 3;
    upload(x);
    const rooftile_grouped_operands groups = on_device(x);
    grouped_gemm(*session_, x.args, x.groups, operands_, groups).wait();
    download(x);
    x.expect_right();  // The four rows of the third group count as rows behind the last one.
    EXPECT_EQ(status(), ROOFTILE_GROUPS_UNKNOWN_EXPERT);
  }
}

TEST_F(GroupedResident, SizesThatDoNotFitLeaveCUntouchedAndAreReported) {
  // Too many rows, a negative size, and sizes whose sum wraps around to a legal one.
  for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{5, 0, 1, 22, 2},
                                                {5, -1, 1, 19, 2},
                                                {5, 0x7fffffff, 0x7fffffff, 4, 2}}) {
    GroupedProduct x(grouped_case(kResidentGroups, kResidentExperts));
    x.rows = rows;
    upload(x);
    const rooftile_grouped_operands groups = on_device(x);
    grouped_gemm(*session_, x.args, x.groups, operands_, groups).wait();
    download(x);
    EXPECT_TRUE(x.c_is_untouched());
    EXPECT_EQ(status(), ROOFTILE_GROUPS_TOO_LARGE);
  }
}

TEST_F(GroupedResident, PackedExpertsNeedNoBuffer) {
  for (const Epilogue& epilogue : {Epilogue{}, parse_epilogue("column_scale+bias_column+relu")}) {
    GroupedProduct x(grouped_case(kResidentGroups, kResidentExperts, {}, epilogue));
    upload(x);
    PackedExperts packed;
    packed = PackedExperts(*session_, x.args, x.groups, {.b = operands_.b});
    buffers_[1].upload(std::vector<char>(buffers_[1].size()).data(), buffers_[1].size());
    operands_.b = {};
    x.args.packed = packed.get();
    x.args.ldb = x.args.stride_b = 0;
    const rooftile_grouped_operands groups = on_device(x);
    grouped_gemm(*session_, x.args, x.groups, operands_, groups).wait();
    download(x);
    x.expect_right();
    // They are not the B of any other call.
    x.groups.experts = 4;
    EXPECT_THROW(grouped_gemm(*session_, x.args, x.groups, operands_, groups), StatusError);
    EXPECT_THAT(rooftile_last_error(), HasSubstr("of 5 experts, but the call's is"));
    EXPECT_THROW(gemm(*session_, x.args, operands_), StatusError);
    buffers_.clear();
  }
}

TEST_F(GroupedResident, QuantisedExpertsAreNotPacked) {
  GroupedProduct x(grouped_case(kResidentGroups, kResidentExperts, parse_types("f32xq4_0")));
  upload(x);
  EXPECT_THROW(PackedExperts(*session_, x.args, x.groups, {.b = operands_.b}), StatusError);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("as stored: pass B itself"));
}

TEST_F(GroupedResident, WrongPlacesAreRefused) {
  GroupedProduct x(grouped_case(kResidentGroups, kResidentExperts));
  upload(x);
  const rooftile_grouped_operands right = on_device(x);
  const auto expect_refused = [&](const rooftile_grouped_operands& groups, const char* message) {
    try {
      grouped_gemm(*session_, x.args, x.groups, operands_, groups).wait();
      ADD_FAILURE() << "not refused: " << message;
    } catch (const StatusError& error) {
      EXPECT_EQ(error.status(), ROOFTILE_INVALID_ARGUMENT);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  };
  expect_refused(with(right, [&](auto& copy) { copy.rows = {}; }), "operands has no rows");
  expect_refused(with(right, [&](auto& copy) { copy.rows.offset = 1; }), "rows starts at byte 4");
  expect_refused(with(right, [&](auto& copy) { copy.rows.offset = -64; }), "rows's offset is -64");
  rooftile_grouped_operands groups = right;
  x.groups.count = 65;
  expect_refused(groups, "rows takes 260 bytes");
  x.groups.count = 5;
  x.groups.experts_of_groups = x.experts.data();
  expect_refused(right, "so do the experts");
  x.groups.rows = x.rows.data();
  expect_refused(right, "operands has rows, but groups->rows is not NULL");
  x.groups.rows = x.groups.experts_of_groups = nullptr;
  x.groups.count = 0;  // Nothing is wrong with no groups, and nothing is done.
  grouped_gemm(*session_, x.args, x.groups, operands_, right).wait();
  download(x);
  EXPECT_TRUE(x.c_is_untouched());
}

TEST_F(GroupedResident, PreparationNamesTheKernel) {
  GroupedProduct x(grouped_case(kResidentGroups, kResidentExperts));
  upload(x);
  x.args.batch = 1;
  const rooftile_grouped_operands places = {.struct_size = sizeof places, .operands = &operands_};
  operands_.struct_size = sizeof operands_;
  rooftile_prepared prepared = {.struct_size = sizeof prepared};
  ASSERT_EQ(
      rooftile_resident_prepare_grouped(session_->get(), &x.args, &x.groups, &places, &prepared),
      ROOFTILE_OK)
      << rooftile_last_error();
  EXPECT_STRNE(prepared.kernel, "");
}

}  // namespace
}  // namespace rooftile
