// A schedule of faults: every allocation of a call on the host, and of opening a context, fails
// once in its turn. The call is right or returns OUT_OF_MEMORY with C untouched, and the context
// goes on as before. The number of points tried is printed; none is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "tests/support/c_api_fixture.h"
#include "tests/support/failing_allocations.h"

namespace rooftile {
namespace {

class EveryAllocation : public CApi {
 protected:
  void SetUp() override {
    CApi::SetUp();
    open_without_device();
  }
};

TEST_F(EveryAllocation, OfACallFailsInItsTurnAndTheCallIsRightOrRefused) {
  for (const char* types : {"f32", "f16_f16", "u8_bf16", "f32xq4b32", "f16xq8_0"})
    for (const rooftile_tier tier :
         {ROOFTILE_TIER_AUTO, ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64}) {
      Problem p =
          padded_problem(9, 7, 70, Transpose::kNo, Transpose::kYes, 1.0f, 0.5f, parse_types(types));
      p.epilogue = parse_epilogue("bias_column+gelu_erf+residual");
      std::unique_ptr<Product> product;
      rooftile_gemm_args args = {};
      rooftile_quantization quantization = {};
      rooftile_epilogue epilogue = {};
      rooftile_status status = ROOFTILE_OK;
      const int points = at_every_allocation(
          [&] {
            product = std::make_unique<Product>(p);
            args = gemm_args_of(*product);
            quantization = quantization_of(*product);
            epilogue = epilogue_of(*product);
            args.tier = tier;
            args.epilogue = &epilogue;
            if (quantized(p.types)) args.quantization = &quantization;
          },
          [&] { status = rooftile_gemm(context_, &args); },
          [&](bool failed) {
            if (status == ROOFTILE_OK) return product->expect_right();
            EXPECT_TRUE(failed);
            EXPECT_EQ(status, ROOFTILE_OUT_OF_MEMORY) << rooftile_last_error();
            EXPECT_TRUE(product->c_is_untouched());
          });
      ASSERT_FALSE(HasFailure()) << types << ", tier " << tier << ", allocation " << points;
      std::printf("%s, tier %d: %d points tried, none skipped\n", types, static_cast<int>(tier),
                  points);
    }
}

TEST_F(EveryAllocation, OfOpeningAContextFailsInItsTurn) {
  const std::string database = (folder_ / "none.db").string();
  const rooftile_options options = {
      .struct_size = sizeof options, .database_path = database.c_str(), .device = "no such device"};
  rooftile_context* opened = nullptr;
  rooftile_status status = ROOFTILE_OK;
  const int points = at_every_allocation(
      [&] { opened = nullptr; }, [&] { status = rooftile_open(&options, &opened); },
      [&](bool failed) {
        EXPECT_TRUE(failed || status == ROOFTILE_OK) << rooftile_last_error();
        EXPECT_EQ(opened == nullptr, status != ROOFTILE_OK);
        EXPECT_THAT(status, ::testing::AnyOf(ROOFTILE_OK, ROOFTILE_OUT_OF_MEMORY))
            << rooftile_last_error();
        rooftile_close(opened);
      });
  ASSERT_FALSE(HasFailure()) << "allocation " << points;
  std::printf("%d points tried, none skipped\n", points);
}

}  // namespace
}  // namespace rooftile
