// An open context without a database, and the C ABI's arguments for a Product.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rooftile/rooftile.h>

#include <string>

#include "tests/support/opened.h"
#include "tests/support/problem_args.h"
#include "tests/support/product.h"
#include "tests/support/scratch.h"

namespace rooftile {

class CApi : public ::testing::Test {
 protected:
  void SetUp() override { reopen({}); }
  void TearDown() override { rooftile_close(context_); }
  /// Replaces the context by one with these options.
  void reopen(const rooftile_options& options, const char* database = "none.db") {
    rooftile_close(context_);
    context_ = opened(folder_ / database, options);
  }
  /// Replaces the context by one that no device of this machine belongs to.
  void open_without_device() { reopen({.device = "no such device"}); }

  static rooftile_sgemm_args args_of(Product& product) {
    const Problem& p = product.problem;
    return {.struct_size = sizeof(rooftile_sgemm_args),
            .layout = ROOFTILE_ROW_MAJOR,
            .trans_a = c_transpose(p.trans_a),
            .trans_b = c_transpose(p.trans_b),
            .m = p.m,
            .n = p.n,
            .k = p.k,
            .alpha = static_cast<float>(p.alpha),
            .a = product.a.data(),
            .lda = p.lda,
            .b = product.b.data(),
            .ldb = p.ldb,
            .beta = static_cast<float>(p.beta),
            .c = product.c.data(),
            .ldc = p.ldc};
  }
  static rooftile_gemm_args gemm_args_of(Product& product) {
    rooftile_gemm_args args = problem_args(product.problem);
    args.a = product.stored_a_elements.data();
    args.b = product.stored_b_elements.data();
    args.c = product.c_data();
    return args;
  }
  static rooftile_quantization quantization_of(const Product& product) {
    rooftile_quantization quantization = quantization_args(product.problem);
    quantization.scales = product.quantization.scales.data();
    quantization.zero_points = product.quantization.zero_points.data();
    return quantization;
  }
  static rooftile_epilogue epilogue_of(Product& product) {
    const Epilogue& e = product.problem.epilogue;
    rooftile_epilogue epilogue = epilogue_args(product.problem);
    epilogue.row_scale = e.row_scale ? product.row_scale.data() : nullptr;
    epilogue.column_scale = e.column_scale ? product.column_scale.data() : nullptr;
    epilogue.bias = product.bias.data();
    epilogue.residual = e.residual ? product.residual.data() : nullptr;
    epilogue.ld_residual = product.ld_residual();
    epilogue.stride_residual = product.stride_residual();
    return epilogue;
  }
  void expect_refused(const Product& product, const rooftile_sgemm_args& args,
                      const std::string& message,
                      rooftile_status status = ROOFTILE_INVALID_ARGUMENT) {
    EXPECT_EQ(rooftile_sgemm(context_, &args), status);
    EXPECT_THAT(rooftile_last_error(), ::testing::HasSubstr(message));
    EXPECT_TRUE(product.c_is_untouched());
  }
  void expect_refused(const Product& product, const rooftile_gemm_args& args,
                      const std::string& message) {
    EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), ::testing::HasSubstr(message));
    EXPECT_TRUE(product.c_is_untouched());
  }
  void expect_refused(Product& product, const rooftile_epilogue& epilogue,
                      const std::string& message) {
    rooftile_gemm_args args = gemm_args_of(product);
    args.epilogue = &epilogue;
    expect_refused(product, args, message);
  }

  ScratchFolder folder_;
  rooftile_context* context_ = nullptr;
  Product product_{padded_problem(5, 7, 3, Transpose::kNo, Transpose::kNo)};
};

}  // namespace rooftile
