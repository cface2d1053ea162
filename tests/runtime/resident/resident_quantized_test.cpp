// GEMMs with a quantised B on the device: which scales are refused, and that sums do not overflow.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/half.h"
#include "runtime/abi/handles.h"
#include "tests/support/call_of.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

void set_half(std::vector<char>& elements, std::size_t at, float value) {
  const std::uint16_t bits = to_f16(value);
  std::memcpy(elements.data() + 2 * at, &bits, sizeof bits);
}

/// B has 6 rows of 3 blocks, A is float16, and there is no tuning database.
class ResidentQuantized : public ResidentTest {
 protected:
  ResidentQuantized()
      : product_(packed_problem(5, 6, 37, Transpose::kNo, Transpose::kYes, 1,
                                parse_types("f16xq4b16_f16"))) {}
  void SetUp() override {
    ResidentTest::SetUp();
    open({});
    operands_ = operands_of(product_);
  }
  /// Sets the scale of block 1 in row 2 to 8200. A weight is up to 8 times its scale, which
  /// exceeds float16's range.
  static void spoil(std::vector<char>& scales) { set_half(scales, 7, 8200); }
  void upload_scales(const std::vector<char>& scales) {
    ok(rooftile_buffer_upload(operands_.scales.buffer, 0, scales.data(), scales.size()));
  }
  void expect_refused(rooftile_status status) {
    EXPECT_EQ(status, ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), HasSubstr("the scale of b is 8200 at block 1 of row 2"));
  }
  rooftile_status gemm() {
    const ProblemArgs problem(product_);
    return rooftile_resident_gemm(context_, &problem.args, &operands_, nullptr);
  }
  void expect_c_untouched() {
    download_c(product_, operands_.c);
    EXPECT_TRUE(product_.c_is_untouched());
  }

  Product product_;
  rooftile_resident_operands operands_ = {};
};

TEST_F(ResidentQuantized, ScalesBeyondFloat16WeightsAreRefusedAndCIsUntouched) {
  std::vector<char> scales = product_.quantization.scales;
  spoil(scales);
  upload_scales(scales);
  const ProblemArgs problem(product_);
  // This call does not read the scales.
  ok(rooftile_resident_prepare(context_, &problem.args, &operands_, nullptr));
  expect_refused(gemm());
  expect_c_untouched();
}

TEST_F(ResidentQuantized, ScalesAreCheckedOnceAndAgainAfterAnUpload) {
  const auto memory = buffer_names().get(operands_.scales.buffer)->memory;
  ok(gemm());
  ASSERT_EQ(memory->right_scales.size(), 1u);
  const RightScales first = memory->right_scales.front();
  ok(gemm());
  EXPECT_EQ(memory->right_scales, std::vector<RightScales>{first});
  std::vector<char> scales = product_.quantization.scales;
  spoil(scales);
  upload_scales(scales);
  expect_refused(gemm());
  upload_scales(product_.quantization.scales);
  ok(gemm());
  EXPECT_EQ(memory->right_scales.size(), 1u);
  EXPECT_NE(memory->right_scales.front(), first);
}

TEST_F(ResidentQuantized, ScalesThatACallWroteAreChecked) {
  ok(gemm());
  // Computes C := 0 + residual into the scales. Each float32 of the residual is two float16 NaN.
  Problem p = packed_problem(1, 9, 1);
  p.epilogue.residual = true;
  Product writer(p);
  std::ranges::fill(writer.a, 0.0f);
  for (std::size_t i = 0; i < writer.residual.size(); ++i)
    writer.residual[i] = static_cast<char>(i % 2 == 0 ? 0 : 0x7e);
  rooftile_resident_operands x = operands_of(writer);
  x.c = {operands_.scales.buffer, 0};
  const ProblemArgs problem(writer);
  ok(rooftile_resident_gemm(context_, &problem.args, &x, nullptr));
  EXPECT_EQ(gemm(), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("of b is NaN"));
}

TEST_F(ResidentQuantized, ScalesThatAListUploadsAreCheckedBeforeEachRun) {
  std::vector<char> scales = product_.quantization.scales;
  const ProblemArgs problem(product_);
  rooftile_list* list = nullptr;
  ok(rooftile_list_create(context_, &list));
  // Uploads only the second half of the scales and keeps the first half.
  const std::size_t half = scales.size() / 4 / 2 * 2;
  ok(rooftile_list_upload(list, operands_.scales.buffer, half, scales.data() + half,
                          scales.size() - half));
  ok(rooftile_list_gemm(list, &problem.args, &operands_));
  ok(rooftile_list_run(list, nullptr));
  spoil(scales);
  expect_refused(rooftile_list_run(list, nullptr));
  scales = product_.quantization.scales;
  run(list);
  ok(rooftile_list_release(list));
}

TEST_F(ResidentQuantized, PackingChecksTheScales) {
  std::vector<char> scales = product_.quantization.scales;
  spoil(scales);
  upload_scales(scales);
  const ProblemArgs problem(product_);
  const rooftile_pack_args pack = {
      .struct_size = sizeof pack, .operand = ROOFTILE_OPERAND_B, .call = &problem.args};
  rooftile_packed* packed = nullptr;
  expect_refused(rooftile_resident_pack(context_, &pack, &operands_, &packed));
}

/// All weights are 0.25 (255 times 2^-10) and all activations 200, and float16 sums are permitted.
/// A kernel that added a * (q - zero point) in float16 would reach 8 * 200 * 255 before scaling.
class HalfSumsOfQuantizedB : public ResidentTest {
 protected:
  void SetUp() override {
    ResidentTest::SetUp();
    if (!device_.limits.float16_arithmetic) GTEST_SKIP() << "the device has no 16-bit arithmetic";
    open({parse_variant("family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 "
                        "vector_width_a=4")},
         {}, parse_types("f16xq8b32z_f16_sum_f16"));
  }
  static Product adversarial(float scale) {
    Product product(packed_problem(5, 6, 64, Transpose::kNo, Transpose::kYes, 1,
                                   parse_types("f16xq8b32z_f16")));
    for (std::size_t i = 0; i < product.stored_a_elements.size() / 2; ++i)
      set_half(product.stored_a_elements, i, 200);
    std::ranges::fill(product.stored_b_elements, static_cast<char>(255));
    std::ranges::fill(product.quantization.zero_points, char{0});
    for (std::size_t i = 0; i < product.quantization.scales.size() / 2; ++i)
      set_half(product.quantization.scales, i, scale);
    return product;
  }
};

TEST_F(HalfSumsOfQuantizedB, OfResidentOperandsDoNotOverflow) {
  for (const float scale : {0x1p-10f, -0x1p-10f, 0x1p-20f}) {
    Product product = adversarial(scale);
    const rooftile_resident_operands operands = operands_of(product);
    ProblemArgs problem(product);
    problem.args.f16_sums = 1;
    expect_right(product, operands, problem.args);
  }
}

TEST_F(HalfSumsOfQuantizedB, OfHostOperandsDoNotOverflow) {
  Product product = adversarial(0x1p-10f);
  GemmCall call = call_of(product, TierChoice::kDevice);
  call.problem.types.sums = Sums::kF16;
  context_->context.gemm(call);
  product.expect_right();
}

}  // namespace
}  // namespace rooftile
