// Epilogue of a GEMM that BLAS, or a kernel without it, computed: one pass over C.
#pragma once

#include "core/problem.h"
#include "runtime/call/call.h"

namespace rooftile {

/// Makes matrix i of a batch of C from `sums`, alpha * op(A) * op(B) with ld_sums elements between
/// rows, which are overwritten: with beta * C and the epilogue in Real, float or double, and one
/// rounding to C's type. sums may be C itself when beta is 0 and the residual is not C.
template <typename Real>
void apply_epilogue(const Problem& p, const EpilogueOperands& operands, std::int64_t i, Real* sums,
                    std::int64_t ld_sums, void* c);

/// Whether the call's residual is its own C.
bool residual_is_c(const GemmCall& call);

}  // namespace rooftile
