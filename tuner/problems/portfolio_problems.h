// Problems on which a class's kernels are compared, so that one can be chosen for any other
// problem.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/problem.h"

namespace rooftile {

/// Returns the tuned problems that are cheap enough, then others of their class scattered over log
/// m, log n, log k from 1 to the largest tuned sizes: odd sizes, multiples of 16, matrix-vector
/// products, and batches where batches are tuned. The list is the same for the same arguments, and
/// a longer list starts with the shorter one. max_flops limits one problem. `tuned` is of one class
/// and not empty.
std::vector<Problem> portfolio_problems(std::span<const Problem> tuned, double max_flops,
                                        std::size_t count);

}  // namespace rooftile
