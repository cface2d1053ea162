#include "tuner/search/gaussian_process.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace rooftile {
namespace {

double squared(double x) { return x * x; }

/// Returns the squared distances between the rows of two sets of features.
Eigen::MatrixXd squared_distances(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y) {
  Eigen::MatrixXd distances = -2 * x * y.transpose();
  distances.colwise() += x.rowwise().squaredNorm();
  distances.rowwise() += y.rowwise().squaredNorm().transpose();
  return distances.cwiseMax(0);
}

}  // namespace

// Returns the covariance of the observations (columns) with any rows, without noise.
Eigen::MatrixXd GaussianProcess::covariance(const Eigen::MatrixXd& features,
                                            const Eigen::MatrixXd& trends) const {
  const Eigen::ArrayXXd r =
      (5 * squared_distances(features, features_)).array().sqrt() / prior_.length_scale;
  const Eigen::ArrayXXd matern = (1 + r + r.square() / 3) * (-r).exp();
  return (squared(prior_.signal_deviation) * matern + squared(prior_.constant_deviation)).matrix() +
         trends * prior_.slope_deviations.cwiseAbs2().asDiagonal() * trends_.transpose();
}

GaussianProcess::GaussianProcess(GaussianProcessPrior prior, Eigen::MatrixXd features,
                                 Eigen::MatrixXd trends, const Eigen::VectorXd& y)
    : prior_(std::move(prior)), features_(std::move(features)), trends_(std::move(trends)) {
  Eigen::MatrixXd k = covariance(features_, trends_);
  k.diagonal().array() += squared(prior_.noise_deviation);
  cholesky_.compute(k);
  const Eigen::VectorXd residual = y - trends_ * prior_.slopes;
  weights_ = cholesky_.solve(residual);
  const double log_determinant = 2 * cholesky_.matrixLLT().diagonal().array().log().sum();
  log_likelihood_ = -0.5 * (residual.dot(weights_) + log_determinant +
                            static_cast<double>(y.size()) * std::log(2 * std::numbers::pi));
}

GaussianProcess::Prediction GaussianProcess::predict(const Eigen::MatrixXd& features,
                                                     const Eigen::MatrixXd& trends) const {
  const Eigen::MatrixXd k = covariance(features, trends);
  const Eigen::VectorXd prior_variance =
      (squared(prior_.signal_deviation) + squared(prior_.constant_deviation) +
       (trends * prior_.slope_deviations.asDiagonal()).rowwise().squaredNorm().array());
  const Eigen::MatrixXd explained = cholesky_.matrixL().solve(k.transpose());
  return {
      .mean = trends * prior_.slopes + k * weights_,
      .deviation = (prior_variance.array() - explained.colwise().squaredNorm().transpose().array())
                       .max(0)
                       .sqrt()};
}

}  // namespace rooftile
