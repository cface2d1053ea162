// A regression of a problem's kernel times over their variants.
#pragma once

#include <Eigen/Core>

#include "tuner/gaussian_process.h"

namespace rooftile {

/// Of the priors that fit kernel times, the likeliest. One row an observation: features as
/// variant_features() gives them, trends that the times are expected to follow (log2, so that equal
/// ratios are equal steps), y = log2 of the times. The first trend always counts; the others do as
/// long as the times are at least as likely with them as without, and have slopes and deviations of
/// 0 otherwise.
GaussianProcessPrior likeliest_prior(const Eigen::MatrixXd& features, const Eigen::MatrixXd& trends,
                                     const Eigen::VectorXd& y);

}  // namespace rooftile
