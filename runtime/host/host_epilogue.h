// Epilogue of a GEMM that BLAS computed: one pass over C.
#pragma once

#include "core/problem.h"
#include "runtime/call/call.h"

namespace rooftile {

/// Applies the epilogue to matrix i of a batch. `sums` holds alpha * op(A) * op(B) with ld_sums
/// elements between rows. `c` holds C before the call (read when beta is not 0). sums may be C
/// itself when beta is 0.
void apply_epilogue(const Problem& p, const EpilogueOperands& operands, std::int64_t i,
                    const float* sums, std::int64_t ld_sums, float* c);

}  // namespace rooftile
