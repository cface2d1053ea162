// Regression with uncertainty: a Gaussian process with a Matérn 5/2 kernel over features and a
// linear part over a few trends. Rasmussen and Williams, Gaussian Processes for Machine Learning
// (2006), chapters 2, 4.2 and 5.4.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace rooftile {

/// Prior of the process. Values are in the units of y.
struct GaussianProcessPrior {
  double constant_deviation = 10;  ///< Of the level of y.
  Eigen::VectorXd slopes = {};     ///< Expected slopes of y over each trend.
  /// Around the slopes; 0 with a slope of 0 leaves the trend out.
  Eigen::VectorXd slope_deviations = {};
  double signal_deviation = 1;   ///< Of the part that features explain beyond the trends.
  double noise_deviation = 0.1;  ///< Of an observation.
  double length_scale = 1;       ///< Distance of features at which values are nearly uncorrelated.
};

class GaussianProcess {
 public:
  /// One row per observation; the caller scales features and trends.
  GaussianProcess(GaussianProcessPrior prior, Eigen::MatrixXd features, Eigen::MatrixXd trends,
                  const Eigen::VectorXd& y);

  /// Logarithm of the density of y under the prior: a larger value means a better fit.
  double log_likelihood() const { return log_likelihood_; }

  struct Prediction {
    Eigen::VectorXd mean, deviation;  ///< Of the value without noise.
  };
  Prediction predict(const Eigen::MatrixXd& features, const Eigen::MatrixXd& trends) const;

 private:
  Eigen::MatrixXd covariance(const Eigen::MatrixXd& features, const Eigen::MatrixXd& trends) const;

  GaussianProcessPrior prior_;
  Eigen::MatrixXd features_, trends_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
  Eigen::VectorXd weights_;
  double log_likelihood_ = 0;
};

}  // namespace rooftile
