// Programs that were compiled with a newer header than the library's pass structures that have
// fields unknown to this library. Structures that lack fields:
// resident/resident_struct_size_test.cpp.
#include <cstring>

#include "tests/support/c_api_fixture.h"
#include "tests/support/resized.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

class StructSize : public CApi {
 protected:
  /// Makes the call with a fresh C, and checks the result.
  template <typename Multiply, typename Args>
  rooftile_status product(const Multiply& multiply, const Args* args) {
    product_.c = product_.c_before;
    const rooftile_status status = multiply(context_, args);
    if (status == ROOFTILE_OK)
      product_.expect_right();
    else
      EXPECT_TRUE(product_.c_is_untouched());
    return status;
  }
  rooftile_tier last_tier() {
    rooftile_decision decision = {.struct_size = sizeof decision};
    EXPECT_EQ(rooftile_last_decision(context_, &decision), ROOFTILE_OK) << rooftile_last_error();
    return decision.tier;
  }
};

TEST_F(StructSize, OfSgemmArgsIsChecked) {
  expect_sizes(args_of(product_),
               [&](const rooftile_sgemm_args* args) { return product(rooftile_sgemm, args); });
}

TEST_F(StructSize, OfGemmArgsIsChecked) {
  expect_sizes(
      gemm_args_of(product_),
      [&](const rooftile_gemm_args* args) { return product(rooftile_gemm, args); },
      kGemmArgsOfFirstRelease);
}

TEST_F(StructSize, OfAnEpilogueIsChecked) {
  product_.problem.epilogue = parse_epilogue("bias_row");
  rooftile_gemm_args args = gemm_args_of(product_);
  expect_sizes(
      epilogue_of(product_),
      [&](const rooftile_epilogue* epilogue) {
        args.epilogue = epilogue;
        return product(rooftile_gemm, &args);
      },
      kEpilogueOfFirstRelease);
}

TEST_F(StructSize, OfAQuantizationIsChecked) {
  product_ = Product(padded_problem(5, 6, 37, Transpose::kNo, Transpose::kYes, 1.0f, 0.0f,
                                    parse_types("f32xq4b16")));
  rooftile_gemm_args args = gemm_args_of(product_);
  expect_sizes(quantization_of(product_), [&](const rooftile_quantization* quantization) {
    args.quantization = quantization;
    return product(rooftile_gemm, &args);
  });
}

TEST_F(StructSize, OfAGuardIsChecked) {
  const rooftile_guard guard = {.precision = ROOFTILE_PRECISION_EXACT64};
  rooftile_sgemm_args args = args_of(product_);
  expect_sizes(guard, [&](const rooftile_guard* given) {
    args.guard = given;
    const rooftile_status status = product(rooftile_sgemm, &args);
    if (status == ROOFTILE_OK) {
      EXPECT_EQ(last_tier(), ROOFTILE_TIER_HOST64);
    }
    return status;
  });
}

TEST_F(StructSize, OfOptionsIsChecked) {
  const std::string database = (folder_ / "none.db").string();
  expect_sizes(rooftile_options{.database_path = database.c_str()},
               [&](const rooftile_options* options) {
                 rooftile_context* context = nullptr;
                 const rooftile_status status = rooftile_open(options, &context);
                 rooftile_close(context);
                 return status;
               });
}

TEST_F(StructSize, ResultsAreAsLongAsTheCallersStructure) {
  const rooftile_sgemm_args args = args_of(product_);
  ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  rooftile_decision poison;
  std::memset(&poison, 0xa5, sizeof poison);
  for (const bool last : {false, true}) {
    const auto ask = [&](rooftile_decision* decision) {
      return last ? rooftile_last_decision(context_, decision)
                  : rooftile_explain(context_, &args, decision);
    };
    rooftile_decision known = {.struct_size = sizeof known};
    ASSERT_EQ(ask(&known), ROOFTILE_OK) << rooftile_last_error();
    EXPECT_THAT(known.veto, HasSubstr("no tuning database"));
    std::vector<std::size_t> sizes = sizes_of_headers<rooftile_decision>();
    sizes.push_back(kDecisionOfFirstRelease);
    for (const std::size_t size : sizes) {
      SCOPED_TRACE(size);
      const Resized decision(poison, size);
      if (size > sizeof known)
        std::memset(decision.bytes() + sizeof known, 0xa5, size - sizeof known);
      ASSERT_EQ(ask(decision.get()), ROOFTILE_OK) << rooftile_last_error();
      const Resized expected(known, size);
      EXPECT_EQ(std::memcmp(decision.bytes(), expected.bytes(), size), 0);
    }
    for (const std::size_t size : {kDecisionOfFirstRelease - 8, sizeof known + 1}) {
      known.struct_size = size;
      EXPECT_EQ(ask(&known), ROOFTILE_INVALID_ARGUMENT);
    }
  }
}

}  // namespace
}  // namespace rooftile
