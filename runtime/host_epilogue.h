// The epilogue where the product was computed by a BLAS: one pass over C.
#pragma once

#include "core/problem.h"

namespace rooftile {

/// Operands of an epilogue in host memory; null where the problem's epilogue does not use them.
/// Vectors hold m (row_scale, bias of rows) or n elements. The residual is laid out like C, with
/// its own ld and stride between products.
struct EpilogueOperands {
  const float* row_scale = nullptr;
  const float* column_scale = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  std::int64_t ld_residual = 0, stride_residual = 0;
};

/// The i-th product of a batch. sums: alpha * product, ld_sums apart; C: what was there before the
/// product (read when beta is not 0). sums may be C itself when beta is 0.
void apply_epilogue(const Problem& p, const EpilogueOperands& operands, std::int64_t i,
                    const float* sums, std::int64_t ld_sums, float* c);

}  // namespace rooftile
