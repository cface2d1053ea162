// A grouped GEMM for tests of the runtime: operands between guard zones, the C ABI's structures for
// them, and the check of C against float64. Operands and check are those of certificates.
#pragma once

#include <gtest/gtest.h>
#include <rooftile/rooftile.h>

#include <vector>

#include "runtime/verify/certification_operands.h"
#include "tests/support/problem_args.h"

namespace rooftile {

/// A problem with padded rows, `behind` rows behind the last group and these groups.
inline CertificationCase grouped_case(const std::vector<Group>& groups, std::int64_t experts,
                                      const Types& types = {}, const Epilogue& epilogue = {},
                                      std::int64_t behind = 2) {
  const Transpose trans_b = quantized(types) ? Transpose::kYes : Transpose::kNo;
  Problem p =
      grouped_problem(rows_of(groups) + behind, 37, quantized(types) ? 2 * types.b.block + 8 : 29,
                      grouping_of(groups, experts), trans_b, types);
  p.lda += 3;
  if (!quantized(types)) {
    p.ldb += 4;
    p.stride_b = stored_b(p).rows * p.ldb + 4;
  }
  p.ldc += 3;
  p.epilogue = epilogue;
  if (epilogue.clamp) p.epilogue.low = -0.75, p.epilogue.high = 1.5;
  if (types.c != DataType::kI32) p.alpha = 0.5f, p.beta = -1;
  return {.problem = p, .groups = groups};
}

class GroupedProduct {
 public:
  explicit GroupedProduct(const CertificationCase& of) : test(of), x(certification_operands(of)) {
    const Problem& p = test.problem;
    before_ = x.c;
    after_ = x.c;
    for (const Group& group : test.groups) {
      rows.push_back(group.rows);
      experts.push_back(group.expert);
    }
    args = problem_args(p);
    args.a = x.a.data() + x.placement.offset_a * bytes_of(p.types.a);
    args.b = x.b.data() + bytes_of_b(p.types, x.placement.offset_b);
    args.c = after_.data() + x.placement.offset_c * bytes_of(p.types.c);
    if (quantized(p.types)) {
      quantization_ = quantization_args(p);
      quantization_.scales = x.scales.data();
      quantization_.zero_points = x.zero_points.data();
      if (has_block_format(p.types)) quantization_.scales = quantization_.zero_points = nullptr;
      args.quantization = &quantization_;
    }
    if (any(p.epilogue)) {
      epilogue_ = epilogue_args(p);
      const Epilogue& e = p.epilogue;
      const auto vector = [&](std::int64_t offset) {
        return x.vectors.data() + offset * bytes_of(epilogue_type(p.types));
      };
      if (e.row_scale) epilogue_.row_scale = vector(x.placement.offset_row_scale);
      if (e.column_scale) epilogue_.column_scale = vector(x.placement.offset_column_scale);
      if (e.bias != Bias::kNone) epilogue_.bias = vector(x.placement.offset_bias);
      if (e.residual) epilogue_.residual = x.residual.data();
      epilogue_.ld_residual = x.placement.ld_residual;
      args.epilogue = &epilogue_;
    }
    groups = {.struct_size = sizeof groups,
              .count = static_cast<std::int64_t>(rows.size()),
              .experts = p.grouping.experts,
              .rows = rows.data(),
              .experts_of_groups = experts.data(),
              .stride_columns = x.placement.expert_columns};
  }
  GroupedProduct(const GroupedProduct&) = delete;
  GroupedProduct& operator=(const GroupedProduct&) = delete;

  /// The buffer of C, guard zones included.
  std::vector<char>& after() { return after_; }
  bool c_is_untouched() const { return after_ == before_; }
  /// Expects every element within its bound and everything else unchanged.
  void expect_right() const { expect_right(test); }
  /// The same where other groups, or fewer, were computed.
  void expect_right(const CertificationCase& as) const {
    EXPECT_EQ(compare_result(as, x, after_.data()).wrong, "");
  }

  CertificationCase test;
  CertificationOperands x;
  std::vector<std::int64_t> rows, experts;
  rooftile_gemm_args args = {};
  rooftile_groups groups = {};

 private:
  std::vector<char> before_, after_;
  rooftile_quantization quantization_ = {};
  rooftile_epilogue epilogue_ = {};
};

}  // namespace rooftile
