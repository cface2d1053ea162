// A regression of a problem's kernel times over their variants.
#pragma once

#include <Eigen/Core>

#include "tuner/search/gaussian_process.h"

namespace rooftile {

/// Returns the likeliest of the priors that fit kernel times. One row per observation: features as
/// variant_features() returns them, trends that the times are expected to follow (log2, so that
/// equal ratios are equal steps), y = log2 of the times. The first trend always counts. The others
/// count as long as the times are at least as likely with them as without, and otherwise have
/// slopes and deviations of 0.
GaussianProcessPrior likeliest_prior(const Eigen::MatrixXd& features, const Eigen::MatrixXd& trends,
                                     const Eigen::VectorXd& y);

}  // namespace rooftile
