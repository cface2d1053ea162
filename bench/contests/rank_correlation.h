// A measure of how well one order predicts another. Pure functions.
#pragma once

#include <span>

namespace rooftile {

/// Spearman's rank correlation, equal values sharing the mean of their ranks: 1 for the same order,
/// -1 for the opposite one. 0 when one of them has no order. Throws kInvalidArgument unless both
/// have the same number of values, two at least.
double rank_correlation(std::span<const double> x, std::span<const double> y);

}  // namespace rooftile
