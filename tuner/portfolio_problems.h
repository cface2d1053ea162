// Problems on which a class's kernels are compared, so that one can be chosen for any other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/problem.h"

namespace rooftile {

/// The tuned ones that are cheap enough, then others of their class scattered over log m, log n,
/// log k from 1 to the largest tuned sizes: odd ones, multiples of 16, matrix-vector products, and
/// batches where batches are tuned. The same list for the same arguments, a longer one starts with
/// the shorter. max_flops: of one problem. tuned: of one class, not empty.
std::vector<Problem> portfolio_problems(std::span<const Problem> tuned, double max_flops,
                                        std::size_t count);

}  // namespace rooftile
