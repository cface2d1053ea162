// 8-bit integer GEMM on the host, exact by means of a float32 BLAS.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/host/host_blas.h"

namespace rooftile {

/// Returns op(A) * op(B) of one matrix pair, m x n, for A and B of p's type, i8 or u8. The depth k
/// is divided into slices in which no sum exceeds 2^24 in magnitude, so that float32 is exact in
/// any order of summation: 1024 steps of i8 (2^14 each), 258 of u8 (255^2 each). Slices are added
/// as int32.
std::vector<std::int32_t> integer_product(const HostBlas& blas, const Problem& p, const void* a,
                                          const void* b, HostThreads threads);

}  // namespace rooftile
