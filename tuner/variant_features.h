// Variants as numbers that a regression can compare.
#pragma once

#include <Eigen/Core>
#include <span>

#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

/// One row a variant: log2 of sizes, 0 or 1 for choices, and what follows for the problem
/// (workgroups, edge waste, registers). Columns that never change are left out; the others have a
/// variance of 1 over these variants, all together scaled so that two variants taken at random are
/// 1 apart in the mean square.
Eigen::MatrixXd variant_features(std::span<const Variant> variants, const Problem& problem);

}  // namespace rooftile
