// 8-bit integer products on the host, exact through a float32 BLAS.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/host_blas.h"

namespace rooftile {

/// op(A) * op(B) of one product, m x n, for an A and B of i8. A run of 1024 steps of k has sums of
/// at most 1024 * 2^14 = 2^24, all of which float32 holds exactly in any order; runs are added as
/// int32.
std::vector<std::int32_t> integer_product(const HostBlas& blas, const Problem& p,
                                          const std::int8_t* a, const std::int8_t* b,
                                          HostThreads threads);

}  // namespace rooftile
