// Variants as numeric features for a regression.
#pragma once

#include <Eigen/Core>
#include <span>

#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

/// Returns one row per variant: log2 of sizes, 0 or 1 for choices, and derived values for the
/// problem (workgroups, edge waste, registers). Constant columns are left out. The others have a
/// variance of 1 over these variants and are scaled so that the mean squared distance of two random
/// variants is 1.
Eigen::MatrixXd variant_features(std::span<const Variant> variants, const Problem& problem);

}  // namespace rooftile
