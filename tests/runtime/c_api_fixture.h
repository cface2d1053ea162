// An open context without a database, and the C ABI's arguments for a Product.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rooftile/rooftile.h>

#include <string>

#include "tests/runtime/product.h"
#include "tests/runtime/scratch.h"

namespace rooftile {

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string database = (folder_ / "none.db").string();
    rooftile_options options = {.struct_size = sizeof options, .database_path = database.c_str()};
    ASSERT_EQ(rooftile_open(&options, &context_), ROOFTILE_OK) << rooftile_last_error();
  }
  void TearDown() override { rooftile_close(context_); }

  static rooftile_sgemm_args args_of(Product& product) {
    const Problem& p = product.problem;
    return {.struct_size = sizeof(rooftile_sgemm_args),
            .layout = ROOFTILE_ROW_MAJOR,
            .trans_a = p.trans_a == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE,
            .trans_b = p.trans_b == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE,
            .m = p.m,
            .n = p.n,
            .k = p.k,
            .alpha = p.alpha,
            .a = product.a.data(),
            .lda = p.lda,
            .b = product.b.data(),
            .ldb = p.ldb,
            .beta = p.beta,
            .c = product.c.data(),
            .ldc = p.ldc};
  }
  static rooftile_gemm_args gemm_args_of(Product& product) {
    const Problem& p = product.problem;
    return {.struct_size = sizeof(rooftile_gemm_args),
            .type = static_cast<rooftile_type>(p.types.a),
            .type_c = static_cast<rooftile_type>(p.types.c),
            .f16_sums = p.types.f16_sums ? 1 : 0,
            .trans_a = p.trans_a == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE,
            .trans_b = p.trans_b == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE,
            .m = p.m,
            .n = p.n,
            .k = p.k,
            .batch = p.batch,
            .alpha = p.alpha,
            .beta = p.beta,
            .a = product.stored_a_elements.data(),
            .b = product.stored_b_elements.data(),
            .c = product.c_data(),
            .lda = p.lda,
            .ldb = p.ldb,
            .ldc = p.ldc,
            .stride_a = p.stride_a,
            .stride_b = p.stride_b,
            .stride_c = p.stride_c};
  }
  static rooftile_quantization quantization_of(const Product& product) {
    const Quantization& q = product.problem.types.b;
    const QuantizedBytes bytes = quantized_bytes(product.problem);
    return {.struct_size = sizeof(rooftile_quantization),
            .bits = q.bits,
            .block = q.block,
            .zero_point = static_cast<rooftile_zero_point>(q.zero_point),
            .values_bytes = static_cast<std::size_t>(bytes.values),
            .scales = product.quantization.scales.data(),
            .scales_bytes = static_cast<std::size_t>(bytes.scales),
            .zero_points = product.quantization.zero_points.data(),
            .zero_points_bytes = static_cast<std::size_t>(bytes.zero_points)};
  }
  static rooftile_epilogue epilogue_of(Product& product) {
    const Epilogue& e = product.problem.epilogue;
    return {.struct_size = sizeof(rooftile_epilogue),
            .row_scale = e.row_scale ? product.row_scale.data() : nullptr,
            .column_scale = e.column_scale ? product.column_scale.data() : nullptr,
            .bias_kind = static_cast<rooftile_bias>(e.bias),
            .bias = product.bias.data(),
            .activation = static_cast<rooftile_activation>(e.activation),
            .residual = e.residual ? product.residual.data() : nullptr,
            .ld_residual = product.ld_residual(),
            .stride_residual = product.stride_residual(),
            .clamp = e.clamp ? 1 : 0,
            .low = e.low,
            .high = e.high};
  }
  void expect_refused(const Product& product, const rooftile_sgemm_args& args,
                      const std::string& message,
                      rooftile_status status = ROOFTILE_INVALID_ARGUMENT) {
    EXPECT_EQ(rooftile_sgemm(context_, &args), status);
    EXPECT_THAT(rooftile_last_error(), ::testing::HasSubstr(message));
    EXPECT_TRUE(product.c_is_untouched());
  }

  ScratchFolder folder_;
  rooftile_context* context_ = nullptr;
  Product product_{padded_problem(5, 7, 3, Transpose::kNo, Transpose::kNo)};
};

}  // namespace rooftile
