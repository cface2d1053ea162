// Packed operands that are refused, and calls with a packed operand when there is no device or the
// device fails.

#include "tests/support/forked_child.h"
#include "tests/support/packed_fixture.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using DriverCall = FaultyDriver::Call;

class PackedFaultsTest : public PackedTest {
 protected:
  void expect_refused(rooftile_gemm_args args, rooftile_status status, const std::string& message) {
    EXPECT_EQ(rooftile_gemm(context_, &args), status) << message;
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
    EXPECT_TRUE(product_.c_is_untouched()) << message;
  }
  /// Returns args without the operand itself, so that only the packed one is left.
  static rooftile_gemm_args without_b(rooftile_gemm_args args) {
    args.b = nullptr;
    return args;
  }

  Product product_{padded_problem(33, 37, 66, kNo, kYes, 1.0f, 0.5f)};
  HostCall call_{product_};
};

TEST_F(PackedFaultsTest, CallsOfAnotherShapeAreRefusedWithBothShapes) {
  open({parse_variant(kPacksB)});
  call_.args.packed = pack(call_.args);
  rooftile_gemm_args args = call_.args;
  args.n = 36;
  expect_refused(
      args, ROOFTILE_INVALID_ARGUMENT,
      "the packed operand is B of 66 x 37 f32, transposed, but the call's is B of 66 x 36 "
      "f32, transposed");
  args = call_.args;
  args.trans_b = ROOFTILE_NO_TRANSPOSE;
  args.ldb = 40;
  expect_refused(args, ROOFTILE_INVALID_ARGUMENT,
                 "but the call's is B of 66 x 37 f32, not transposed");
  args = call_.args;
  args.type = ROOFTILE_F16;
  expect_refused(args, ROOFTILE_INVALID_ARGUMENT, "but the call's is B of 66 x 37 f16, transposed");
  rooftile_packed* const packed = call_.args.packed;
  std::erase(packed_, packed);
  ok(rooftile_packed_release(packed));
  expect_refused(call_.args, ROOFTILE_INVALID_ARGUMENT, "packed operand was released");
}

TEST_F(PackedFaultsTest, WrongArgumentsOfPackingAreRefused) {
  open({parse_variant(kPacksB)});
  rooftile_packed* packed = nullptr;
  const auto refused = [&](const rooftile_pack_args& args, const std::string& message) {
    EXPECT_EQ(rooftile_pack(context_, &args, &packed), ROOFTILE_INVALID_ARGUMENT) << message;
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
    EXPECT_EQ(packed, nullptr);
  };
  const rooftile_pack_args good = {
      .struct_size = sizeof good, .operand = ROOFTILE_OPERAND_B, .call = &call_.args};
  rooftile_pack_args args = good;
  args.call = nullptr;
  refused(args, "args->call is null");
  args = good;
  args.operand = static_cast<rooftile_operand>(2);
  refused(args, "operand is 2; see rooftile_operand");
  args = good;
  args.size_count = 1;
  refused(args, "sizes is null");
  const std::int64_t sizes[65] = {-1};
  args.sizes = sizes;
  refused(args, "sizes[0] is -1");
  args.size_count = 65;
  refused(args, "size_count is 65");
  args = good;
  const rooftile_gemm_args no_b = without_b(call_.args);
  args.call = &no_b;
  refused(args, "b is null");
  rooftile_gemm_args again = call_.args;
  again.packed = pack(call_.args);
  args.call = &again;
  refused(args, "has a packed operand already");
  args = good;
  args.struct_size = 8;
  refused(args, "struct_size is 8");
  EXPECT_EQ(rooftile_pack(nullptr, &good, &packed), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rooftile_pack(context_, &good, nullptr), ROOFTILE_INVALID_ARGUMENT);
  rooftile_packed_info info = {.struct_size = sizeof info};
  EXPECT_EQ(rooftile_packed_query(nullptr, &info), ROOFTILE_INVALID_ARGUMENT);
  ok(rooftile_packed_release(nullptr));
  const ProblemArgs problem(product_);
  args.struct_size = sizeof args;
  args.call = &problem.args;
  const rooftile_resident_operands nowhere = {.struct_size = sizeof nowhere};
  EXPECT_EQ(rooftile_resident_pack(context_, &args, &nowhere, &packed), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("no buffer for the operand"));
}

TEST_F(PackedFaultsTest, AnotherContextRefusesIt) {
  open({parse_variant(kPacksB)});
  call_.args.packed = pack(call_.args);
  rooftile_context* const first = context_;
  context_ = nullptr;
  open({parse_variant(kPacksB)});
  expect_refused(call_.args, ROOFTILE_INVALID_ARGUMENT, "belongs to another context");
  rooftile_resident_operands operands = operands_of(product_);
  ProblemArgs problem(product_);
  problem.args.packed = call_.args.packed;
  EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
            ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("another context"));
  rooftile_close(first);
}

TEST_F(PackedFaultsTest, ResidentAndHostCallsShareOnePackedOperand) {
  open({parse_variant(kPacksB)});
  rooftile_resident_operands operands = operands_of(product_);
  ProblemArgs problem(product_);
  rooftile_packed* const of_buffer = pack_resident(problem.args, operands);
  rooftile_packed* const of_host = pack(call_.args);
  rooftile_gemm_args args = without_b(call_.args);
  args.packed = of_buffer;
  args.tier = ROOFTILE_TIER_DEVICE;
  ok(rooftile_gemm(context_, &args));
  product_.expect_right();
  problem.args.packed = of_host;
  operands.b = {};
  expect_right(product_, operands, problem.args);
}

TEST_F(PackedFaultsTest, WithoutATunedDeviceTheHostReadsTheOriginal) {
  open({});
  rooftile_packed* const packed = pack(call_.args);
  EXPECT_EQ(info(packed).layouts, 0);
  EXPECT_EQ(info(packed).device_bytes, 0u);
  EXPECT_STREQ(info(packed).kernel, "");
  call_.args.packed = packed;
  expect_refused(without_b(call_.args), ROOFTILE_UNSUPPORTED,
                 "b is null and only its packed copy is given");
  ok(rooftile_gemm(context_, &call_.args));
  product_.expect_right();
  EXPECT_NE(last().tier, ROOFTILE_TIER_DEVICE);
  // On device buffers, the plain kernel reads the plain copy of the operand.
  rooftile_resident_operands operands = operands_of(product_);
  product_.c = product_.c_before;
  ProblemArgs problem(product_);
  problem.args.packed = pack_resident(problem.args, operands);
  EXPECT_EQ(info(problem.args.packed).plain_copy, 1);
  EXPECT_EQ(info(problem.args.packed).kernel, short_name(fallback_variant()));
  operands.b = {};
  operands.c = put(product_.c_data(), c_bytes(product_), 0, 4);
  expect_right(product_, operands, problem.args);
  // So does a kernel that is certified for a forced call.
  product_.c = product_.c_before;
  call_.args.tier = ROOFTILE_TIER_DEVICE;
  ok(rooftile_gemm(context_, &call_.args));
  product_.expect_right();
  EXPECT_EQ(last().tier, ROOFTILE_TIER_DEVICE);
}

TEST_F(PackedFaultsTest, HostTiersAndGuardsNeedTheOriginal) {
  open_with({{packed_problem(33, 37, 66, kNo, kYes), kPacksB, 1e5, 1e5}});
  call_.args.packed = pack(call_.args);
  const auto both = [&](rooftile_gemm_args args, rooftile_tier tier, const std::string& needs) {
    product_.c = product_.c_before;
    expect_refused(without_b(args), ROOFTILE_UNSUPPORTED, needs);
    ok(rooftile_gemm(context_, &args));
    product_.expect_right();
    EXPECT_EQ(last().tier, tier);
  };
  rooftile_gemm_args args = call_.args;
  args.tier = ROOFTILE_TIER_HOST;
  both(args, ROOFTILE_TIER_HOST, "the requested host tier reads");
  args = call_.args;
  rooftile_guard guard = {.struct_size = sizeof guard, .precision = ROOFTILE_PRECISION_EXACT64};
  args.guard = &guard;
  both(args, ROOFTILE_TIER_HOST64, "the requested precision reads");
  guard = {.struct_size = sizeof guard, .scan_range = 1, .check_spots = 1};
  both(args, ROOFTILE_TIER_DEVICE, "the scan, or the check of the result, reads");
}

TEST_F(PackedFaultsTest, AfterALossTheHostReadsTheOriginal) {
  open({parse_variant(kPacksB)});
  open_with({{packed_problem(33, 37, 66, kNo, kYes), kPacksB, 1e5, 1e5}});
  call_.args.packed = pack(call_.args);
  ok(rooftile_gemm(context_, &call_.args));
  EXPECT_EQ(last().tier, ROOFTILE_TIER_DEVICE);
  FaultyDriver::fail(DriverCall::kSubmit, VK_ERROR_DEVICE_LOST);
  product_.c = product_.c_before;
  expect_refused(without_b(call_.args), ROOFTILE_DEVICE_ERROR, "lost");
  FaultyDriver::heal();
  ok(rooftile_gemm(context_, &call_.args));
  product_.expect_right();
  EXPECT_NE(last().tier, ROOFTILE_TIER_DEVICE);
  product_.c = product_.c_before;
  expect_refused(without_b(call_.args), ROOFTILE_UNSUPPORTED, "was lost");
  // Packing again finds no device. This is no error.
  EXPECT_EQ(info(pack(HostCall(product_).args)).layouts, 0);
}

TEST_F(PackedFaultsTest, AfterAFailureDuringACallTheHostReadsTheOriginal) {
  open_with({{packed_problem(33, 37, 66, kNo, kYes), kPacksB, 1e5, 1e5}});
  call_.args.packed = pack(call_.args);
  FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST);
  ok(rooftile_gemm(context_, &call_.args));
  product_.expect_right();
  EXPECT_EQ(last().reason, ROOFTILE_REASON_FAILED);
}

TEST_F(PackedFaultsTest, CallsOnBuffersOfALostDeviceFail) {
  open({parse_variant(kPacksB)});
  rooftile_resident_operands operands = operands_of(product_);
  ProblemArgs problem(product_);
  problem.args.packed = pack_resident(problem.args, operands);
  operands.b = {};
  FaultyDriver::fail(DriverCall::kSubmit, VK_ERROR_DEVICE_LOST);
  EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
            ROOFTILE_DEVICE_ERROR);
  FaultyDriver::heal();
  EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
            ROOFTILE_DEVICE_ERROR);
  packed_.clear();
  ok(rooftile_packed_release(problem.args.packed));
}

TEST_F(PackedFaultsTest, TheHostAnswersInAForkedChild) {
  open_with({{packed_problem(33, 37, 66, kNo, kYes), kPacksB, 1e5, 1e5}});
  call_.args.packed = pack(call_.args);
  const auto body = [&] {
    const bool answered = rooftile_gemm(context_, &call_.args) == ROOFTILE_OK;
    const rooftile_gemm_args args = without_b(call_.args);
    const bool refused = rooftile_gemm(context_, &args) == ROOFTILE_UNSUPPORTED;
    const bool released = rooftile_packed_release(call_.args.packed) == ROOFTILE_OK;
    return answered && refused && released;
  };
  EXPECT_EQ(in_a_child(body), 0);
  ok(rooftile_gemm(context_, &call_.args));
  product_.expect_right();
}

TEST_F(PackedFaultsTest, TheHostAnswersWhereItIsFaster) {
  open_with({{packed_problem(33, 37, 66, kNo, kYes), kPacksB, 1e9, 1e5}}, fast_host());
  call_.args.packed = pack(call_.args);
  EXPECT_EQ(info(call_.args.packed).layouts, 1);
  ok(rooftile_gemm(context_, &call_.args));
  product_.expect_right();
  EXPECT_NE(last().tier, ROOFTILE_TIER_DEVICE);
  product_.c = product_.c_before;
  const rooftile_gemm_args args = without_b(call_.args);
  ok(rooftile_gemm(context_, &args));
  product_.expect_right();
  EXPECT_EQ(last().tier, ROOFTILE_TIER_DEVICE);
}

TEST_F(PackedFaultsTest, ExplainCountsNeitherTransferNorPackingOfAPackedOperand) {
  open_with({{packed_problem(33, 37, 66, kNo, kYes), kPacksB, 1e5, 7e5}}, fast_host());
  rooftile_decision unpacked = {.struct_size = sizeof unpacked},
                    decision = {.struct_size = sizeof decision};
  ok(rooftile_explain_gemm(context_, &call_.args, &unpacked));
  call_.args.packed = pack(call_.args);
  ok(rooftile_explain_gemm(context_, &call_.args, &decision));
  EXPECT_DOUBLE_EQ(unpacked.kernel_ns, 8e5);
  EXPECT_DOUBLE_EQ(decision.kernel_ns, 1e5);
  EXPECT_DOUBLE_EQ(unpacked.upload_ns - decision.upload_ns, 37 * 66 * 4 / 10.0);
  EXPECT_EQ(decision.host_ns, unpacked.host_ns);  // The host reads the operand itself.
  EXPECT_STREQ(decision.kernel, name_of(kPacksB).c_str());
}

}  // namespace
}  // namespace rooftile
