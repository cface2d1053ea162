// 8-bit integer products on the host, exact through a float32 BLAS.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/host_blas.h"

namespace rooftile {

/// op(A) * op(B) of one product, m x n, for an A and B of p's type, i8 or u8. Runs of so many steps
/// of k that no sum's magnitude exceeds 2^24 are exact in float32 in any order: 1024 of i8 (2^14
/// each), 258 of u8 (255^2 each). Runs are added as int32.
std::vector<std::int32_t> integer_product(const HostBlas& blas, const Problem& p, const void* a,
                                          const void* b, HostThreads threads);

}  // namespace rooftile
